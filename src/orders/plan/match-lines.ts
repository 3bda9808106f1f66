import type { SubOrder } from '../../review-api/index.ts';
import type { LineLinkRow } from '../../warehouse/orders/order-links.ts';
import type { Line, SubOrderContent } from './desired-order.ts';
import { centsAs, type MoneyUnit, optionsKey } from './same-value.ts';

export type LineLink = LineLinkRow<SubOrderContent>;

/** A creation was sent, or is about to be, and no response has shown its sub-order. */
export const isPending = ({ subOrderId }: LineLink) => subOrderId === null;

/** The service may not show the count: that does not mean that there are no reviews. */
export const mayHaveReviews = ({ reviews_count }: SubOrder) => reviews_count !== 0;

/** A sub-order that may be a line's, and the link that leads to it. `options`, `cents`: in a form that can be compared. */
export type Candidate = {
  subOrder: SubOrder;
  link: LineLink | undefined;
  options: string;
  cents: bigint | undefined;
};

/** A linked sub-order that the service does not show: whether it has another product by now, or reviews, is not known. */
export const hiddenCandidate = (link: LineLink, id: number): Candidate => {
  const subOrder = { id, product_id: null, price: null } as SubOrder;
  return { subOrder, link, options: '', cents: undefined };
};

/**
 * Gives each line the sub-order that fits it best, by `rankOf`.
 *
 * @param linkOf what is remembered of the lines, by their codes.
 * @param untouched codes of lines that are not pushed now, and keep what they have.
 * @returns `ofLines`: by the codes of the lines. `left`: sub-orders that no line has.
 */
export function matchLines(
  shown: readonly SubOrder[],
  lines: readonly Line[],
  linkOf: ReadonlyMap<string, LineLink>,
  untouched: ReadonlySet<string>,
  unit: MoneyUnit | undefined,
) {
  const linkOfId = new Map([...linkOf.values()].map((link) => [link.subOrderId, link]));
  // A sub-order that the response shows twice, as by a join, is no copy.
  const candidates = [...new Map(shown.map((one) => [one.id, one])).values()].map((subOrder): Candidate => {
    const cents = subOrder.price === null ? undefined : BigInt(subOrder.price.cents);
    const options = optionsKey(subOrder.product_options ?? {});
    return { subOrder, link: linkOfId.get(subOrder.id), options, cents };
  });
  const contentOf = new Map(lines.map(({ lineCode, content }) => [lineCode, content]));
  const pairs = [...contentOf.keys(), ...untouched].flatMap((lineCode) => {
    const rank = rankOf(lineCode, contentOf, linkOf.get(lineCode), unit);
    const all = candidates.map((candidate) => ({ lineCode, candidate, rank: rank(candidate) }));
    // No other line can have what is exactly its own. An order of thousands of lines would have millions of pairs.
    const best = all.find((pair) => pair.rank === ranks.linked);
    return best ? [best] : all.filter((pair) => pair.rank < ranks.unfit);
  });
  const left = new Set(candidates);
  const ofLines = new Map<string, Candidate>();
  for (const { lineCode, candidate, rank } of pairs.sort((a, b) => a.rank - b.rank)) {
    if (ofLines.has(lineCode) || !left.delete(candidate)) continue;
    ofLines.set(lineCode, candidate);
    // The creation may have been sent twice, and both responses lost: the link keeps looking for another copy.
    if (rank >= ranks.lost && rank < ranks.like) candidate.link = linkOf.get(lineCode);
  }
  return { candidates, ofLines, left };
}

/**
 * How well a sub-order fits a line: the lower the better.
 *
 * - `linked`: it is linked, and exactly as the line (0 and 1) or but for the price, which the shop may have shared out again
 *   (2 and 3). Linked to the line itself (0 and 2), or to another one (1 and 3): the shop's line codes may be positions,
 *   which move when a line is removed or inserted.
 * - `own`: it is the line's by its link, and is changed; or the line is not pushed now.
 * - `ofAnother`: it is linked to another line, which gets another sub-order, and is changed.
 * - `lost`, and by likeness up to 8: the response of the line's creation was lost, and the sub-order, which was not there
 *   before, is as it was sent.
 * - `like`, and by likeness up to 14: it is linked to a line that the shop has removed, since shops give lines new codes
 *   (9, 11, 13), or somebody else created it (10, 12, 14).
 * - `unfit`: it is not the line's.
 */
const ranks = { linked: 0, own: 4, ofAnother: 5, lost: 6, like: 9, unfit: Number.POSITIVE_INFINITY } as const;

/**
 * Returns the rank of a sub-order for a line. A sub-order that may have reviews gets no other product.
 *
 * @param contentOf of the lines by their codes. A line without is not pushed now, and keeps what it has.
 */
function rankOf(
  lineCode: string,
  contentOf: ReadonlyMap<string, SubOrderContent>,
  link: LineLink | undefined,
  unit: MoneyUnit | undefined,
) {
  const content = contentOf.get(lineCode);
  const isLinked = link !== undefined && !isPending(link);
  const likenessToLine = content && likenessTo(content, unit);
  const likenessToSent = link && isPending(link) ? likenessTo(link.content, unit) : undefined;
  const mayBeLost = (candidate: Candidate) =>
    !candidate.link &&
    !link?.idsBefore?.includes(candidate.subOrder.id) &&
    (content === undefined || mayBecome({ ...candidate, link }, content));
  return (candidate: Candidate): number => {
    const likeness = likenessToLine?.(candidate);
    const isOwn = candidate.link !== undefined && candidate.link === link;
    const isOfPushedLine = candidate.link !== undefined && contentOf.has(candidate.link.lineCode);
    // A line without a link may have moved, too. It takes nothing of a line that is not pushed now.
    const mayMove = candidate.link && (link ? isLinked : isOfPushedLine);
    if (mayMove && (likeness === exact || likeness === butPrice)) return ranks.linked + 2 * likeness + (isOwn ? 0 : 1);
    if (isOwn && (content === undefined || mayBecome(candidate, content))) return ranks.own;
    if (isLinked && isOfPushedLine && !mayHaveReviews(candidate.subOrder)) return ranks.ofAnother;
    const toSent = likenessToSent?.(candidate);
    if (toSent !== undefined && (content || toSent === exact) && mayBeLost(candidate)) return ranks.lost + toSent;
    return likeness === undefined ? ranks.unfit : ranks.like + 2 * likeness + (candidate.link ? 0 : 1);
  };
}

/** A sub-order that may have reviews gets no other product (promise 6). */
const mayBecome = (candidate: Candidate, content: SubOrderContent) =>
  !mayHaveReviews(candidate.subOrder) || !isOtherProduct(candidate, content);

const exact = 0;
const butPrice = 1;
const butOptions = 2;

/**
 * How like a line a sub-order is: product, options and price agree (`exact`), all but the price, or all but the options. The
 * service, or another integration, may read prices or options in its own way. Undefined: not at all. The product alone is
 * never enough: sizes S and M of one product would be taken for each other.
 */
function likenessTo(content: SubOrderContent, unit: MoneyUnit | undefined) {
  const options = optionsKey(content.product_options);
  const amounts = new Set<bigint | undefined>(centsAs(content.price, unit));
  return (candidate: Candidate): typeof exact | typeof butPrice | typeof butOptions | undefined => {
    if (candidate.subOrder.product_id === null || isOtherProduct(candidate, content)) return undefined;
    const hasPrice = amounts.has(candidate.cents);
    if (candidate.options === options) return hasPrice ? exact : butPrice;
    return hasPrice ? butOptions : undefined;
  };
}

/** Whether a repeated creation for the line of this link made the sub-order. The line itself has another one, or none. */
export function isCopy(
  candidate: Candidate,
  link: LineLink,
  candidates: readonly Candidate[],
  unit: MoneyUnit | undefined,
): boolean {
  if (link.idsBefore === null || link.idsBefore.includes(candidate.subOrder.id)) return false;
  const own = candidates.find((one) => one.link === link);
  if (!own) return likenessTo(link.content, unit)(candidate) === exact;
  // Both went through the same normalising there, so a copy is like the sub-order of the line as the service shows it.
  const isSameProduct = own.subOrder.product_id === candidate.subOrder.product_id;
  return isSameProduct && own.options === candidate.options && own.cents === candidate.cents;
}

/** The product's id has changed although its code has not: it was registered again at the service. */
export const isRegisteredAgain = (link: LineLink | undefined, { product_code }: SubOrderContent) =>
  product_code !== undefined && product_code === link?.content.product_code;

export const isProductOf = (link: LineLink, content: SubOrderContent) =>
  link.content.product_id === content.product_id || isRegisteredAgain(link, content);

/**
 * The product of a sub-order. If the service has deleted it, the one that was sent last: another product corrects that, the
 * same one does not. Undefined: nobody knows.
 */
export const productOf = ({ subOrder, link }: Candidate) => subOrder.product_id ?? link?.content.product_id;

const isOtherProduct = (candidate: Candidate, content: SubOrderContent) => {
  const product = productOf(candidate);
  return product !== undefined && product !== content.product_id && !isRegisteredAgain(candidate.link, content);
};
