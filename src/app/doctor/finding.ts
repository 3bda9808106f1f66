/** A result of a `doctor` check. */
export type Finding = {
  level: 'ok' | 'warning' | 'fault';
  what: string;
  /** The next step. Warnings and faults have one. */
  hint?: string;
};

export const ok = (what: string): Finding => ({ level: 'ok', what });
export const warning = (what: string, hint: string): Finding => ({ level: 'warning', what, hint });
export const fault = (what: string, hint: string): Finding => ({ level: 'fault', what, hint });
