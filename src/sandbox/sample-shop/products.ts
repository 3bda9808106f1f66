import { dateIn, day, type Moment, type Period } from './calendar.ts';
import { bags, jewelry, shoes } from './catalogue/accessories.ts';
import { hairAndBody, makeup, skincare } from './catalogue/beauty.ts';
import { bottoms, outer, tops } from './catalogue/clothes.ts';
import type { Department, Group, Kind, Season } from './catalogue/group.ts';
import { bedding, interior, kitchen } from './catalogue/home.ts';
import type { Random } from './random.ts';

export type CategoryRow = { category_no: number; parent_no: number | null; title: string; is_open: boolean };

export type ProductRow = {
  product_no: number;
  product_code: string;
  product_name: string;
  english_name: string;
  category_no: number;
  selling_price: number;
  released_at: Date;
};

/** A product with what orders and reviews need to know of it. */
export type Product = { row: ProductRow; group: Group; kind: Kind; popularity: number };

const departments: readonly Department[] = [
  { name: '패션', groups: [tops, bottoms, outer, bags, shoes, jewelry] },
  { name: '뷰티', groups: [skincare, makeup, hairAndBody] },
  { name: '홈', groups: [bedding, kitchen, interior] },
];

export function generateCatalogue(random: Random, period: Period): { categories: CategoryRow[]; products: Product[] } {
  const categories: CategoryRow[] = [{ category_no: 900, parent_no: null, title: '시즌오프 (비공개)', is_open: false }];
  const drafts: Omit<Product, 'row' | 'popularity'>[] = [];
  const categoryOf = new Map<Kind, number>();
  for (const [d, department] of departments.entries()) {
    const departmentNo = 100 * (d + 1);
    categories.push({ category_no: departmentNo, parent_no: null, title: department.name, is_open: true });
    for (const [g, group] of department.groups.entries()) {
      const groupNo = departmentNo + 10 * (g + 1);
      categories.push({ category_no: groupNo, parent_no: departmentNo, title: group.name, is_open: true });
      for (const [k, kind] of group.kinds.entries()) {
        const kindNo = groupNo + k + 1;
        categories.push({ category_no: kindNo, parent_no: groupNo, title: kind.name, is_open: true });
        categoryOf.set(kind, kindNo);
        drafts.push({ group, kind });
      }
    }
  }
  const offers = drafts.flatMap(({ group, kind }) => kind.products.map((product) => ({ group, kind, product })));
  const products = random.sample(offers, offers.length).map(({ group, kind, product }, index): Product => {
    const [product_name, english_name, selling_price] = product;
    const row = {
      product_no: 1001 + index,
      product_code: `P${String(1001 + index).padStart(6, '0')}`,
      product_name,
      english_name,
      category_no: categoryOf.get(kind) ?? 900,
      selling_price,
      released_at: new Date(releaseOf(random, period)),
    };
    // A few bestsellers and a long tail, as in every shop.
    return { row, group, kind, popularity: 1 / (1 + random.next() * 12) };
  });
  return { categories, products };
}

/** Most products are older than the period; some are released while it runs. */
function releaseOf(random: Random, period: Period): Moment {
  return random.chance(0.8)
    ? period.start - random.integer(10, 600) * day
    : period.start + Math.floor(random.next() * (period.end - period.start - 40 * day));
}

const monthsOf: Record<Season, readonly number[]> = {
  always: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11],
  summer: [3, 4, 5, 6, 7],
  winter: [0, 1, 9, 10, 11],
  'spring and autumn': [1, 2, 3, 4, 8, 9, 10],
};

/** What sells at a moment: by season and popularity, and only what is released by then. */
export function createShelf(products: readonly Product[]): (random: Random, at: Moment) => Product {
  const byMonth = Array.from({ length: 12 }, (_, month) =>
    products.map((product) => {
      const inSeason = monthsOf[product.kind.season].includes(month);
      return [product, product.popularity * (inSeason ? 1 : 0.08)] as const;
    }),
  );
  const firstReleased = products.reduce((a, b) => (a.row.released_at <= b.row.released_at ? a : b));
  return (random, at) => {
    const offered = byMonth[dateIn(at).month] ?? [];
    for (let tries = 0; tries < 20; tries += 1) {
      const product = random.weighted(offered);
      if (product.row.released_at.getTime() <= at) return product;
    }
    return firstReleased;
  };
}

export function chosenOptions(random: Random, kind: Kind): Record<string, string> {
  return Object.fromEntries(Object.entries(kind.options).map(([name, values]) => [name, random.pick(values)]));
}
