import type { Api, Given, Row } from './api.ts';

/** What the shop sells, and its customer groups: ids by name. */
export type Goods = {
  variants: Record<string, string>;
  shipping: Record<string, string>;
  groups: Record<string, string>;
};

const named = (name: string) => [{ languageCode: 'en', name, slug: name.toLowerCase(), description: '' }];
const withName = (name: string) => [{ languageCode: 'en', name }];

/**
 * Fills the shop through its admin API: shirts in two sizes, a mug at a reduced tax, a sticker for nothing and two customer
 * groups. Prices are in cents, without tax.
 */
export async function stockVendure(admin: Api): Promise<Goods> {
  const idsOf = async (list: string): Promise<Record<string, string>> => {
    const { items } = await admin.call<{ items: Row[] }>(`query { ${list} { items { id name } } }`);
    return Object.fromEntries(items.map(({ id, name }) => [name, id]));
  };
  const taxes = await idsOf('taxCategories');
  const shipping = await idsOf('shippingMethods');
  const variants: Record<string, string> = {};
  const sell = async (product: string, all: { sku: string; price: number; tax: string; options?: string[] }[]) => {
    const given = { translations: named(product) };
    const { id } = await admin.change('createProduct', { input: ['CreateProductInput', given] }, 'id');
    const sizes = all.flatMap((one) => one.options ?? []);
    const options = await addOptions(admin, id, product, sizes);
    const input = all.map(({ sku, price, tax, options: own = [] }) => ({
      productId: id,
      sku,
      price,
      taxCategoryId: taxes[tax],
      optionIds: own.map((name) => options[name]),
      stockOnHand: 1000,
      translations: withName(sku),
    }));
    const inputs: Given = { input: ['[CreateProductVariantInput!]', input] };
    const created = await admin.change<Row[]>('createProductVariants', inputs, 'id sku');
    for (const variant of created) variants[variant.sku] = variant.id;
  };
  await sell('Shirt', [
    { sku: 'SHIRT-M', price: 1999, tax: 'Standard', options: ['M'] },
    { sku: 'SHIRT-L', price: 2199, tax: 'Standard', options: ['L'] },
  ]);
  await sell('Mug', [{ sku: 'MUG', price: 833, tax: 'Reduced' }]);
  await sell('Sticker', [{ sku: 'STICKER', price: 0, tax: 'Standard' }]);

  const groups: Record<string, string> = {};
  for (const name of ['Gold', 'Silver']) {
    const group = await admin.change('createCustomerGroup', { input: ['CreateCustomerGroupInput', { name }] }, 'id');
    groups[name] = group.id;
  }
  return { variants, shipping, groups };
}

async function addOptions(
  admin: Api,
  productId: string,
  product: string,
  names: string[],
): Promise<Record<string, string>> {
  if (names.length === 0) return {};
  const input = {
    code: `${product}-size`,
    translations: withName('Size'),
    options: names.map((name) => ({ code: name.toLowerCase(), translations: withName(name) })),
  };
  const groups: Given = { input: ['CreateProductOptionGroupInput', input] };
  const group = await admin.change('createProductOptionGroup', groups, 'id options { id name }');
  const given: Given = { productId: ['ID', productId], optionGroupId: ['ID', group.id] };
  await admin.change('addOptionGroupToProduct', given, 'id');
  return Object.fromEntries(group.options.map(({ id, name }: Row) => [name, id]));
}
