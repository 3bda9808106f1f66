import { clockOf } from '../clock.ts';
import type { Params } from '../http.ts';
import { optionsFormOf } from '../review-samples.ts';
import type { Session } from '../session.ts';
import { CannotTell } from '../statement.ts';

/** One item of additional information, as a form. */
export const itemOf = async (session: Session): Promise<Params> => ({
  'options[][review_option_type_id]': session.settings.optionTypeId,
  'options[][created_at]': (await clockOf(session)).daysAgo(1, '12:00:00').iso,
  'options[][value]': 'Fits well',
});

/** @throws CannotTell where `options` cannot be written. */
export async function needsDefaultForm(session: Session): Promise<void> {
  if ((await optionsFormOf(session)) === 'v2')
    throw new CannotTell('the shop uses the v2 form, which takes no options');
}
