/**
 * Spans that a process reads side by side. A span is read one page after the other, so while lanes are free a long one
 * gives away its later parts. Each part ends in a page that is not full: how often is kept in bounds.
 */
export type Lanes = {
  enter(): void;
  leave(): void;
  pageRead(): void;
  /** In how many parts to go on with what is left, this lane's own included; takes note of it. */
  partsFor(pagesLeft: number): number;
};

/** A part of so many pages is worth a lane of its own. */
const pagesAPart = 20;
/** Near the end a lane is given less, as long as such parts are rare among the pages read. */
const leastPages = 8;
const rareShare = 0.02;

export function openLanes(count: number): Lanes {
  let [inUse, pages, given] = [0, 0, 0];
  return {
    enter() {
      inUse += 1;
    },
    leave() {
      inUse -= 1;
    },
    pageRead() {
      pages += 1;
    },
    partsFor(pagesLeft) {
      const free = count - inUse;
      if (free <= 0) return 1;
      const isLong = pagesLeft >= 2 * pagesAPart;
      const mayBeShort = pagesLeft >= leastPages && given + 1 <= pages * rareShare;
      const parts = isLong ? Math.min(free + 1, Math.floor(pagesLeft / pagesAPart)) : mayBeShort ? 2 : 1;
      given += parts - 1;
      return parts;
    },
  };
}
