export type Season = 'always' | 'summer' | 'winter' | 'spring and autumn';

/** A middle category with what its customers say about it, so that a review fits its product. */
export type Group = {
  name: string;
  kinds: readonly Kind[];
  good: readonly string[];
  fair: readonly string[];
  poor: readonly string[];
  goodInEnglish: readonly string[];
  poorInEnglish: readonly string[];
};

/** A lowest category: its products share season and options. */
export type Kind = {
  name: string;
  season: Season;
  options: Readonly<Record<string, readonly string[]>>;
  products: readonly (readonly [name: string, englishName: string, price: number])[];
};

export type Department = { name: string; groups: readonly Group[] };
