/**
 * A real shop system that is up, and what its own API says about its orders. All amounts are in the major unit.
 */
export type Shop = {
  /** Address for a user who may only read. */
  readonly databaseUrl: string;
  /** The preset that `init` must recognise. */
  readonly preset: string;
  /** SHOP_TIME_ZONE, if `init` cannot know it. */
  readonly timeZone?: string;
  /** Codes of all products, as the preset selects them. */
  products(): Promise<string[]>;
  /** All orders that were placed, by code. */
  orders(): Promise<Map<string, ShopOrder>>;
  close(): Promise<void>;
};

export type ShopOrder = {
  placedAt: string;
  total: number;
  user: string | undefined;
  name: string | undefined;
  phone: string | undefined;
  email: string | undefined;
  grade: string | undefined;
  /** In any order. */
  lines: ShopLine[];
};

export type ShopLine = {
  /** Id of the line, for messages. */
  id: string;
  product: string;
  price: number;
  status: string;
  /** Whether a parcel of the line has left. The date is checked against the time of the step. */
  hasLeft: boolean;
  /** Whether all of the line has arrived. */
  hasArrived: boolean;
  invoice: string | undefined;
  carrier: string | undefined;
  options: Record<string, string>;
};

export const sum = (numbers: readonly number[]) => numbers.reduce((total, one) => total + one, 0);

/** One thing that happens in a shop. */
export type Step = {
  /** What happens, in words: `two of three shirts leave`. */
  name: string;
  act(): Promise<unknown>;
  /** Whether the change feed shows it. Otherwise the daily rescan must find it. */
  isInFeed: boolean;
};

/** Steps of a life, and the ids of what they make, by the names that they give them. */
export function openLife() {
  const made: Record<string, string> = {};
  return {
    id: (name: string) => made[name] ?? '',
    step: (name: string, act: () => Promise<unknown>): Step => ({ name, act, isInFeed: true }),
    unseen: (name: string, act: () => Promise<unknown>): Step => ({ name, act, isInFeed: false }),
    making(what: string, name: string, act: () => Promise<string>): Step {
      const make = async () => {
        made[what] = await act();
      };
      return { name, act: make, isInFeed: true };
    },
  };
}
