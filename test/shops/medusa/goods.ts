import type { Api, Row } from './api.ts';

/** What the shop sells, and what its orders need: ids. */
export type Goods = {
  /** By article number. */
  variants: Record<string, string>;
  groups: Record<string, string>;
  regionId: string;
  locationId: string;
  shippingOptionId: string;
  /** Key with which a storefront speaks to the store API. */
  publishableKey: string;
};

/**
 * Fills the shop through its admin API: one region with 20 % tax, a place to send from, shirts in two sizes, a mug, a
 * sticker for nothing and two customer groups. Prices are without tax.
 */
export async function stockMedusa(admin: Api): Promise<Goods> {
  const { sales_channels: channels } = await admin.get('/admin/sales-channels');
  const channel = channels[0].id;
  const { api_key: key } = await admin.post('/admin/api-keys', { title: 'storefront', type: 'publishable' });
  await admin.post(`/admin/api-keys/${key.id}/sales-channels`, { add: [channel] });
  const { stores } = await admin.get('/admin/stores');
  await admin.post(`/admin/stores/${stores[0].id}`, {
    supported_currencies: [{ currency_code: 'eur', is_default: true }],
    default_sales_channel_id: channel,
  });
  const { region } = await admin.post('/admin/regions', {
    name: 'Austria',
    currency_code: 'eur',
    countries: ['at'],
    payment_providers: ['pp_system_default'],
  });
  await admin.post('/admin/tax-regions', {
    country_code: 'at',
    provider_id: 'tp_system',
    default_tax_rate: { rate: 20, code: 'standard', name: 'Standard' },
  });
  const { locationId, shippingOptionId, profileId } = await openShipping(admin, channel);

  const variants: Record<string, string> = {};
  const sell = async (title: string, option: string, all: { sku: string; value: string; price: number }[]) => {
    const { product } = await admin.post('/admin/products', {
      title,
      status: 'published',
      shipping_profile_id: profileId,
      sales_channels: [{ id: channel }],
      options: [{ title: option, values: all.map(({ value }) => value) }],
      variants: all.map(({ sku, value, price }) => ({
        title: `${title} ${value}`,
        sku,
        manage_inventory: false,
        options: { [option]: value },
        prices: [{ currency_code: 'eur', amount: price }],
      })),
    });
    for (const { id, sku } of product.variants) variants[sku] = id;
  };
  await sell('Shirt', 'Size', [
    { sku: 'SHIRT-M', value: 'M', price: 19.99 },
    { sku: 'SHIRT-L', value: 'L', price: 21.99 },
  ]);
  await sell('Mug', 'Colour', [{ sku: 'MUG', value: 'Blue', price: 8.33 }]);
  await sell('Sticker', 'Form', [{ sku: 'STICKER', value: 'Round', price: 0 }]);

  const groups: Record<string, string> = {};
  for (const name of ['Gold', 'Silver']) {
    const { customer_group: group } = await admin.post('/admin/customer-groups', { name });
    groups[name] = group.id;
  }
  return { variants, groups, regionId: region.id, locationId, shippingOptionId, publishableKey: key.token };
}

async function openShipping(admin: Api, channel: string): Promise<Row> {
  const { stock_location: location } = await admin.post('/admin/stock-locations', { name: 'Wien' });
  const at = `/admin/stock-locations/${location.id}`;
  await admin.post(`${at}/sales-channels`, { add: [channel] });
  await admin.post(`${at}/fulfillment-providers`, { add: ['manual_manual'] });
  await admin.post(`${at}/fulfillment-sets`, { name: 'Post', type: 'shipping' });
  const { stock_location: opened } = await admin.get(`${at}?fields=*fulfillment_sets`);
  const { fulfillment_set: set } = await admin.post(
    `/admin/fulfillment-sets/${opened.fulfillment_sets[0].id}/service-zones`,
    { name: 'Austria', geo_zones: [{ type: 'country', country_code: 'at' }] },
  );
  const { shipping_profiles: profiles } = await admin.get('/admin/shipping-profiles');
  const profileId =
    profiles[0]?.id ??
    (await admin.post('/admin/shipping-profiles', { name: 'Default', type: 'default' })).shipping_profile.id;
  const { shipping_option: option } = await admin.post('/admin/shipping-options', {
    name: 'Post',
    price_type: 'flat',
    provider_id: 'manual_manual',
    service_zone_id: set.service_zones[0].id,
    shipping_profile_id: profileId,
    type: { label: 'Post', description: 'Post', code: 'post' },
    prices: [{ currency_code: 'eur', amount: 5 }],
    rules: [],
  });
  return { locationId: location.id, shippingOptionId: option.id, profileId };
}
