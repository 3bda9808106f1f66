import type { Answer } from '../explain.ts';
import { type Html, html } from './html.ts';
import { layout, type Search, section, statusTable } from './layout.ts';

/** What is known of an order or a review. @param answer undefined: nothing was looked up yet. */
export function explainPage(search: Search, answer: Answer | undefined): string {
  return layout({ title: 'explain', main: html`<p><a href="/">Status</a></p>${answered(search, answer)}`, search });
}

function answered({ of, key }: Search, answer: Answer | undefined): Html {
  const notLookedUp = (why: Html | string) => html`<h2>Not looked up</h2><p>${why}</p>`;
  switch (answer?.kind) {
    case undefined:
      return html`<h2>Explain</h2><p>Press Explain to look it up in the shop, the service and the warehouse.</p>`;
    case 'explained':
      if (answer.parts.length === 0) {
        return html`<h2>Unknown ${of}</h2><p>Nothing is known of this key, neither at the service nor anywhere else.</p>`;
      }
      return html`<h2>${of === 'order' ? 'Order' : 'Review'} ${key}</h2>
        ${answer.parts.map(({ title, lines, tables }, n) => section(`part-${n}`, title, html`${lines.map((line) => html`<p>${line}</p>`)}${tables.map(statusTable)}`))}
        <p class="soft">Values of the customer are not shown here: <code>npx review-sync explain ${of}</code> has more.</p>`;
    case 'invalid':
      return notLookedUp(
        of === 'review'
          ? 'Expected the id of a review, a number such as 4711.'
          : 'Expected the code of an order: 1 to 200 characters, none of them a control character.',
      );
    case 'busy':
      return notLookedUp(
        `Searches are limited, so that they load neither shop nor service. Try again in ${answer.seconds} s.`,
      );
    case 'failed':
      return notLookedUp(answer.reason);
    default:
      return answer satisfies never;
  }
}
