/** What a check of `doctor` found: a sentence, how bad it is, and what to do about it. */
export type Finding = {
  verdict: 'ok' | 'warning' | 'fault';
  what: string;
  /** Given wherever something is to be done. */
  mend?: string;
};

export const ok = (what: string): Finding => ({ verdict: 'ok', what });
export const warning = (what: string, mend: string): Finding => ({ verdict: 'warning', what, mend });
export const fault = (what: string, mend: string): Finding => ({ verdict: 'fault', what, mend });
