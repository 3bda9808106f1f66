/** Why a run, or a push without a run, exists. orders/contact-rule.ts says which of them may carry contact. */
export const triggers = [
  'sync',
  'rescan',
  'backfill',
  'backfill with e-mail',
  'repair',
  'retry',
  'retry before the first sync',
  'show',
] as const;
export type Trigger = (typeof triggers)[number];

/** What a run may do. A person or the schedule decides it, and it stands in the run's row of sync.runs. */
export type RunRights = Readonly<{
  trigger: Trigger;
  /** `--allow-removals`: remove beyond the day's allowance, and all lines of an order. */
  allowRemovals: boolean;
  /** First and last day of a backfill, `yyyy-mm-dd` in the zone of the plan; undefined: open. */
  from: string | undefined;
  to: string | undefined;
  /** `--gaps` of a backfill of reviews. */
  gaps: boolean;
  /** ORDER_CONTACT_MAX_AGE_DAYS of the process that started the run. */
  contactMaxAgeDays: number;
  /** ORDER_DELETES of the process that started the run. */
  deletes: 'off' | 'send';
}>;

/** The zone and the systems that a run is planned for. Another process carries the run out only if they are its own. */
export type RunSystems = Readonly<{
  /** REVIEW_API_TIME_ZONE. */
  timeZone: string;
  /** The address of the shop's database, without user and password. */
  shop: string;
  /** The address of the service, and a hash of the client id. */
  service: string;
}>;
