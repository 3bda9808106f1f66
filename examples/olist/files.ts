/** How a column's text becomes a value of the table. */
export type Field = 'text' | 'number' | 'time';

/** A CSV file of the data set and the table it fills; columns of the file that are not listed are passed over. */
export type OlistFile = {
  file: string;
  table: string;
  required: Readonly<Record<string, Field>>;
  optional?: Readonly<Record<string, Field>>;
  /** Headers that stand for one of the columns in some edition of the data set. */
  alsoCalled?: Readonly<Record<string, string>>;
};

export const olistFiles: readonly OlistFile[] = [
  {
    file: 'olist_customers_dataset.csv',
    table: 'olist_customers',
    required: { customer_id: 'text', customer_unique_id: 'text' },
    optional: { customer_zip_code_prefix: 'text', customer_city: 'text', customer_state: 'text' },
  },
  {
    file: 'olist_orders_dataset.csv',
    table: 'olist_orders',
    required: { order_id: 'text', customer_id: 'text', order_status: 'text', order_purchase_timestamp: 'time' },
    optional: {
      order_approved_at: 'time',
      order_delivered_carrier_date: 'time',
      order_delivered_customer_date: 'time',
      order_estimated_delivery_date: 'time',
    },
  },
  {
    file: 'olist_products_dataset.csv',
    table: 'olist_products',
    required: { product_id: 'text' },
    optional: {
      product_category_name: 'text',
      product_name_lenght: 'number',
      product_description_lenght: 'number',
      product_photos_qty: 'number',
      product_weight_g: 'number',
      product_length_cm: 'number',
      product_height_cm: 'number',
      product_width_cm: 'number',
    },
    alsoCalled: {
      product_name_length: 'product_name_lenght',
      product_description_length: 'product_description_lenght',
    },
  },
  {
    file: 'olist_order_items_dataset.csv',
    table: 'olist_order_items',
    required: {
      order_id: 'text',
      order_item_id: 'number',
      product_id: 'text',
      price: 'number',
      freight_value: 'number',
    },
    optional: { seller_id: 'text', shipping_limit_date: 'time' },
  },
  {
    file: 'olist_order_payments_dataset.csv',
    table: 'olist_order_payments',
    required: { order_id: 'text', payment_sequential: 'number', payment_value: 'number' },
    optional: { payment_type: 'text', payment_installments: 'number' },
  },
  {
    file: 'olist_order_reviews_dataset.csv',
    table: 'olist_order_reviews',
    required: { order_id: 'text', review_creation_date: 'time' },
    optional: {
      review_id: 'text',
      review_score: 'number',
      review_comment_title: 'text',
      review_comment_message: 'text',
      review_answer_timestamp: 'time',
    },
  },
  {
    file: 'product_category_name_translation.csv',
    table: 'product_category_name_translation',
    required: { product_category_name: 'text', product_category_name_english: 'text' },
    alsoCalled: { product_category_namept: 'product_category_name' },
  },
];
