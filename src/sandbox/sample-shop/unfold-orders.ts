import type { ItemStatus } from './order-fate.ts';
import type { Order, OrderRow, Parcel } from './orders.ts';

export type OrderItemRow = {
  order_item_no: number;
  order_id: number;
  line_no: number;
  product_no: number;
  shipment_no: number | null;
  unit_price: number;
  quantity: number;
  item_status: ItemStatus;
  modified_at: Date;
};

export type OrderItemOptionRow = { order_item_no: number; option_name: string; option_value: string };

export type ShipmentRow = {
  shipment_no: number;
  order_id: number;
  carrier_name: string;
  tracking_no: string;
  shipped_at: Date;
  delivered_at: Date | null;
  modified_at: Date;
};

export type OrderTables = {
  orders: OrderRow[];
  shipments: ShipmentRow[];
  order_items: OrderItemRow[];
  order_item_options: OrderItemOptionRow[];
};

/** Lays the orders out in the shop's tables. */
export function unfoldOrders(orders: readonly Order[]): OrderTables {
  const tables: OrderTables = { orders: [], shipments: [], order_items: [], order_item_options: [] };
  for (const { row, lines, parcel } of orders) {
    const shipmentNo = parcel ? 700001 + tables.shipments.length : null;
    tables.orders.push(row);
    if (parcel && shipmentNo !== null) tables.shipments.push(shipment(row.order_id, shipmentNo, parcel));
    for (const [index, line] of lines.entries()) {
      const itemNo = 900001 + tables.order_items.length;
      tables.order_items.push({
        order_item_no: itemNo,
        order_id: row.order_id,
        line_no: index + 1,
        product_no: line.product.row.product_no,
        shipment_no: line.fate.inParcel ? shipmentNo : null,
        unit_price: line.product.row.selling_price,
        quantity: line.quantity,
        item_status: line.fate.status,
        modified_at: new Date(line.fate.modifiedAt),
      });
      for (const [option_name, option_value] of Object.entries(line.options)) {
        tables.order_item_options.push({ order_item_no: itemNo, option_name, option_value });
      }
    }
  }
  return tables;
}

function shipment(orderId: number, shipmentNo: number, parcel: Parcel): ShipmentRow {
  return {
    shipment_no: shipmentNo,
    order_id: orderId,
    carrier_name: parcel.carrier,
    tracking_no: parcel.trackingNo,
    shipped_at: new Date(parcel.shippedAt),
    delivered_at: parcel.deliveredAt === undefined ? null : new Date(parcel.deliveredAt),
    modified_at: new Date(parcel.deliveredAt ?? parcel.shippedAt),
  };
}
