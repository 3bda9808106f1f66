/** Three orders in the form of the full public data set: ISO times, review ids, comments with quoted line breaks. */
export const fullEdition: Readonly<Record<string, string>> = {
  'olist_customers_dataset.csv': `"customer_id","customer_unique_id","customer_zip_code_prefix","customer_city","customer_state"
"c1","person-a","01409","sao paulo","SP"
"c2","person-b","14409","franca","SP"
"c3","person-b","14409","franca","SP"
`,
  'olist_orders_dataset.csv': `"order_id","customer_id","order_status","order_purchase_timestamp","order_approved_at","order_delivered_carrier_date","order_delivered_customer_date","order_estimated_delivery_date"
"o1","c1","delivered","2017-10-02 10:56:33","2017-10-02 11:07:15","2017-10-04 19:55:00","2017-10-20 21:25:13","2017-10-25 00:00:00"
"o2","c2","shipped","2018-05-20 08:00:00","2018-05-20 08:10:00","2018-05-22 12:00:00","","2018-06-10 00:00:00"
"o3","c3","unavailable","2018-05-21 08:00:00","","","","2018-06-10 00:00:00"
`,
  'olist_products_dataset.csv': `\ufeff"product_id","product_category_name","product_name_lenght","product_description_lenght","product_photos_qty","product_weight_g","product_length_cm","product_height_cm","product_width_cm"
"prod-b","beleza_saude","40","287","1","225","16","10","14"
"prod-a","pc_gamer","","","","","","",""
`,
  'olist_order_items_dataset.csv': `"order_id","order_item_id","product_id","seller_id","shipping_limit_date","price","freight_value"
"o1","1","prod-b","s1","2017-10-06 11:07:15","29.99","8.72"
"o1","2","prod-a","s1","2017-10-06 11:07:15","0.00","0.00"
"o2","1","prod-c","s2","2018-05-24 08:10:00","100.00","10.50"
`,
  'olist_order_payments_dataset.csv': `"order_id","payment_sequential","payment_type","payment_installments","payment_value"
"o1","1","credit_card","1","18.12"
"o1","2","voucher","1","20.59"
`,
  'olist_order_reviews_dataset.csv': `"review_id","order_id","review_score","review_comment_title","review_comment_message","review_creation_date","review_answer_timestamp"
"r1","o1","5","recomendo","Muito bom,
chegou ""antes"" do prazo","2017-10-21 00:00:00","2017-10-22 18:46:59"
"r2","o1","4","","","2018-06-01 00:00:00","2018-06-02 10:00:00"
"r2","o2","4","","","2018-06-01 00:00:00","2018-06-02 10:00:00"
"r3","o3","1","","Não recebi","2018-06-02 00:00:00","2018-06-03 10:00:00"
`,
  'product_category_name_translation.csv': `\ufeffproduct_category_name,product_category_name_english
beleza_saude,health_beauty
`,
};
