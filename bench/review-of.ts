/** A review as services send it, about 1.4 kB of JSON. Used by the stub and by what lands pages without one. */
const message = 'It fits well and came the next day; the colour is that of the picture. 만족합니다. '.repeat(5);
const variant = (name: string) => `https://images.example.com/reviews/2020/01/01/${name}/0123456789abcdef.jpg`;
const images = JSON.stringify([
  {
    url: variant('full'),
    gallery_url: variant('gallery'),
    portrait_url: variant('portrait'),
    thumbnail_url: variant('thumbnail'),
    width: 1200,
    height: 900,
    gallery_width: 600,
    gallery_height: 450,
    portrait_width: 300,
    portrait_height: 400,
    thumbnail_width: 100,
    thumbnail_height: 100,
  },
]);

/**
 * @param n what sets reviews apart. @param product its id. @param order the code of the review's order, if it has one.
 */
export function reviewOf(
  n: number,
  id: number,
  date: string,
  product: { id: number; code: string },
  order?: string,
): string {
  const orderCode = order === undefined ? 'null' : `"${order}"`;
  return `{"id":${id},"code":null,"display":true,"user_id":${n % 9999},"user_code":"member${n % 9999}","user_name":"Kim","message":"${message}","score":${1 + (n % 5)},"created_at":"${date}","updated_at":"${date}","product_id":${product.id},"product_code":"${product.code}","review_type":"photo","images_count":1,"images":${images},"videos_count":0,"video_urls":[],"videos":[],"likes_count":${n % 7},"plus_likes_count":${n % 5},"comments_count":0,"source":"brand_pc","options":[],"product_options":{"size":"L","colour":"blue"},"order_code":${orderCode},"sub_order_code":"S${n}","store_order":false,"store_name":null}`;
}
