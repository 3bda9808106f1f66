import { counted } from '../base/counts.ts';
import { contactPolicy } from '../orders/contact-rule.ts';
import type { Run } from '../warehouse/runs/runs.ts';

/** What a run may do to customers and to records at the service, as a sentence. */
export function mayDo({ job, rights }: Pick<Run, 'job' | 'rights'>): string {
  if (!job.endsWith('-orders')) return 'It sends no contact';
  const contact = {
    never: 'sends no contact',
    young: `may send contact of orders younger than ${counted(rights.contactMaxAgeDays, 'day')}`,
    always: 'may send contact of every order of its days',
  }[contactPolicy(rights)];
  return `It ${contact} and ${rights.deletes === 'send' ? 'may delete orders' : 'deletes no order'}`;
}
