type LogFunction = (fields: object, message: string) => void;

/** The client logs requests (`debug`), retries (`info`) and holds (`warn`), without customers' data. A pino logger fits. */
export type ClientLog = { debug: LogFunction; info: LogFunction; warn: LogFunction };

const ignore: LogFunction = () => {};

export const silentLog: ClientLog = { debug: ignore, info: ignore, warn: ignore };
