import type { Lanes } from '../lanes.ts';
import { isoOf, type Second, type Span, unitEnd } from '../span.ts';
import { isMoreBehind, type Stretch } from './hidden-behind.ts';
import { nextStep } from './next-step.ts';
import { fetchPage, isOrdered, limitsOf, type Page, type PageDeps, totalOf } from './page.ts';
import { asMet, type Part, partOf } from './part.ts';
import { cut } from './plan-windows.ts';
import { readByPages } from './read-by-pages.ts';
import type { Axis, Window } from './window.ts';

export type ReadDeps = PageDeps & { lanes: Lanes };

export type Sink = {
  /** Takes a part. Those of one lane come in their order, one after the other; the next page is under way meanwhile. */
  land(part: Part, lane: object): Promise<void>;
  /** What of this span was called complete may not be: it will be read again. */
  revoke(span: Span): Promise<void>;
};

/** Pages that a piece of a span should have: fewer than the thirty that can be told. */
export const pagesAPiece = 26;

/** What of a span has to be read as a span of its own: from `start`, in pieces so long. */
export type Left = { start: Second; pieceSeconds?: Second };

/** A span while it is read: in lanes, each from first page to first page, and counted. */
export class SpanRun {
  readonly unreachable: string[] = [];
  /** Pages read so far. */
  pages = 0;
  readonly #deps: ReadDeps;
  readonly #axis: Axis;
  readonly #span: Span;
  readonly #sink: Sink;
  readonly #lanes: Promise<void>[] = [];
  /** Records of the span as the service told it; undefined where it did not. */
  #expected: number | undefined;
  #read = 0;
  /** Met at its edges, or without a date: the service may count them, too. */
  readonly #outside = new Set<string>();
  /** What was read of a service that tells no last page; undefined where it does. */
  #stretches: Stretch[] | undefined = [];
  /** Records of the largest page. */
  #largest = 0;
  /** Whether a page was taken for ordered and went on: by chance it may be. */
  #goesOn = false;
  #left: Left | undefined;
  /** Told once, however many there are. */
  #stray: Second | undefined;

  constructor(deps: ReadDeps, window: Window, sink: Sink) {
    this.#deps = deps;
    this.#axis = window.axis;
    this.#span = window.span;
    this.#sink = sink;
  }

  async read(): Promise<Left | undefined> {
    this.#begin(this.#span, true);
    const failures: unknown[] = [];
    // The list grows while it is waited for.
    for (const lane of this.#lanes) await lane.catch((error: unknown) => failures.push(error));
    if (failures.length > 0) throw failures[0];
    if (this.#stray !== undefined) {
      await this.#sink.revoke(this.#span);
      this.unreachable.push(this.#strayed(this.#stray));
    } else if (this.#left === undefined && (await this.#isShort())) await this.#readAgain();
    return this.#left;
  }

  #begin(span: Span, isFirst = false): void {
    this.#deps.lanes.enter();
    const lane = this.#readLane(span, isFirst);
    this.#lanes.push(lane.finally(() => this.#deps.lanes.leave()));
    // Thrown where it is waited for; until then it is not unhandled.
    lane.catch(() => {});
  }

  async #readLane(span: Span, isFirst: boolean): Promise<void> {
    const { lanes, timeZone } = this.#deps;
    const fullPage = limitsOf(this.#deps).pageSize;
    const land = this.#landing();
    let rest = span;
    try {
      for (let pages = 1; rest.start < rest.end; pages += 1) {
        const page = await this.#firstPage(rest);
        lanes.pageRead();
        this.pages += 1;
        const step = nextStep(rest, viewOf(page), page.lastPage === undefined ? this.#largest : fullPage);
        if (step.kind === 'done') {
          await land(partOf([page], rest, page.ids.length > 0 ? 1 : 2));
          return;
        }
        if (step.kind === 'unordered') {
          await land(asMet(page));
          await this.#byPages(rest, land);
          return;
        }
        this.#goesOn = true;
        const isCounted = isFirst && pages === 1;
        if (step.kind === 'dense' && page.stray !== undefined) {
          // Dates that were not asked for fill the page: each second would bring them again. It is told when all end.
          await land(asMet(page));
          return;
        }
        if (step.kind === 'dense') {
          const unit = { start: rest.start, end: Math.min(unitEnd(rest.start, timeZone), rest.end) };
          await land(asMet(page));
          await this.#byPages(unit, land);
          rest = { start: unit.end, end: rest.end };
          if (!isCounted) continue;
          if (rest.start < rest.end) this.#left = rest;
          return;
        }
        if (isCounted && (await this.#isUncountable(page, rest, step.from))) {
          await land(asMet(page));
          return;
        }
        await land(partOf([page], { start: rest.start, end: step.from }));
        rest = { start: step.from, end: rest.end };
        if (isCounted) rest = await this.#count(page, rest);
        else rest = this.#giveAway(rest, page.lastPage ?? pages);
      }
    } finally {
      await land.done();
    }
  }

  /** An empty list is asked for twice: one that is empty for a moment would be taken for the end of the data. */
  async #firstPage(span: Span): Promise<Page> {
    const query = { axis: this.#axis, span };
    const first = await fetchPage(this.#deps, query, 1);
    const page = first.ids.length > 0 ? first : await fetchPage(this.#deps, query, 1);
    this.#largest = Math.max(this.#largest, page.ids.length);
    if (page.lastPage !== undefined) this.#stretches = undefined;
    return page;
  }

  /**
   * Whether there are more pages than can be counted: the last is told as the thirtieth, which may be a cap, or the
   * service does not heed the page size. Then the span is read in parts that are short enough.
   */
  async #isUncountable({ lastPage }: Page, { start, end }: Span, from: Second): Promise<boolean> {
    const { pages: most } = limitsOf(this.#deps);
    if (lastPage === undefined || lastPage < most || end <= unitEnd(start, this.#deps.timeZone)) return false;
    if (lastPage > most) {
      this.#expected = await totalOf(this.#deps, { axis: this.#axis, span: this.#span });
      if (this.#expected !== undefined) return false;
    }
    const pieceSeconds = Math.max(1, Math.min((from - start) * pagesAPiece, Math.floor((end - start) / 2)));
    this.#left = { start, pieceSeconds };
    return true;
  }

  /**
   * Has the service tell how many records the span holds, so that a list in another order than that of its date is
   * found out: a first page that is in order by chance proves nothing about what lies behind it. The last page tells,
   * and is at the same time the end of what has to be read.
   *
   * @returns what is left to be read.
   */
  async #count(first: Page, rest: Span): Promise<Span> {
    const { lastPage } = first;
    const { pages: most } = limitsOf(this.#deps);
    if (lastPage === undefined || lastPage < 2 || lastPage === most) return rest;
    if (lastPage > most) return this.#giveAway(rest, lastPage);
    const last = await fetchPage(this.#deps, { axis: this.#axis, span: this.#span }, lastPage);
    this.#deps.lanes.pageRead();
    // Otherwise something was added or deleted just now, and it no longer is the last.
    const isLast = last.lastPage === lastPage;
    if (isLast) this.#expected = (lastPage - 1) * first.ids.length + last.ids.length;
    const begin = last.seconds.find((second) => second !== undefined);
    const end = begin === undefined || !isOrdered(last.seconds) ? rest.end : begin + 1;
    const land = this.#landing();
    const isUseful = isLast && end > rest.start && end < rest.end;
    await land(isUseful ? partOf([last], { start: end, end: rest.end }) : asMet(last));
    await land.done();
    return isUseful ? { start: rest.start, end } : rest;
  }

  /** Lets free lanes have later parts of what is left; gives what this lane keeps. */
  #giveAway(rest: Span, lastPage: number): Span {
    const length = rest.end - rest.start;
    const parts = length < 120 ? 1 : this.#deps.lanes.partsFor(lastPage - 1);
    const [own, ...others] = cut(rest, Math.ceil(length / parts));
    for (const other of others) this.#begin(other);
    return own ?? rest;
  }

  /** Hands parts over one after the other, and counts them. */
  #landing() {
    const lane = {};
    let landing = Promise.resolve();
    const land = async (part: Part) => {
      await landing;
      if (part.complete) {
        this.#read += part.reviews;
        this.#stretches?.push({ ...part.complete, reviews: part.reviews });
      }
      for (const page of part.pages) {
        this.#stray ??= page.stray;
        for (const [index, id] of page.ids.entries()) if (!this.#isWithin(page.seconds[index])) this.#outside.add(id);
      }
      landing = this.#sink.land(part, lane);
      landing.catch(() => {});
    };
    return Object.assign(land, { done: () => landing });
  }

  #strayed(second: Second): string {
    const { start, end } = this.#span;
    const asked = `${isoOf(start)} to ${isoOf(end)} (${this.#axis})`;
    return `The service shows a review of ${isoOf(second)} where ${asked} was asked for: REVIEW_API_TIME_ZONE, ${this.#deps.timeZone}, may not be the zone in which it reads dates`;
  }

  #isWithin(second: Second | undefined): boolean {
    return second !== undefined && second >= this.#span.start && second < this.#span.end;
  }

  async #byPages(span: Span, land: (part: Part) => Promise<void>): Promise<void> {
    this.unreachable.push(...(await readByPages(this.#deps, { axis: this.#axis, span }, land)));
  }

  /** Whether fewer records were read than the service has, of which some may be deleted by now. */
  async #isShort(): Promise<boolean> {
    if (this.unreachable.length > 0) return false;
    if (this.#stretches && this.#goesOn) {
      return isMoreBehind(this.#deps, this.#axis, { stretches: this.#stretches, largest: this.#largest });
    }
    const read = this.#read + this.#outside.size;
    if (this.#expected === undefined || read >= this.#expected) return false;
    const now = await totalOf(this.#deps, { axis: this.#axis, span: this.#span });
    return now === undefined || read < now;
  }

  async #readAgain(): Promise<void> {
    await this.#sink.revoke(this.#span);
    const land = this.#landing();
    await this.#byPages(this.#span, land);
    await land.done();
  }
}

const viewOf = (page: Page) => ({
  ...{ count: page.ids.length, lastPage: page.lastPage, ordered: isOrdered(page.seconds) },
  lastSecond: page.seconds.findLast((second) => second !== undefined),
});
