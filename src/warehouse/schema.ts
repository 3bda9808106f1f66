export type RunOutcome = 'done' | 'incomplete' | 'failed' | 'abandoned';

/** Why a run is incomplete. If several reasons apply, it is the first of this list. */
export type RunReason = 'steps-failed' | 'problem' | 'dead-letters';

export type Axis = 'created' | 'updated';

export type DeadLetterKind = 'order' | 'order_line' | 'category' | 'user_grade' | 'review' | 'webhook';
