type Tell = (fields: object, message: string) => void;

/** Where the client tells of calls (`debug`), repeats (`info`) and holds (`warn`); a pino logger fits. Discreet. */
export type ClientLog = { debug: Tell; info: Tell; warn: Tell };

const nowhere: Tell = () => {};

export const silentLog: ClientLog = { debug: nowhere, info: nowhere, warn: nowhere };
