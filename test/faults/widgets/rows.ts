// The rows of widgets, with their table in D1.
import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import { rowKind } from '../../../src/db/rows';
import { lasting } from '../../../src/gate/limits/quotas';

export const widgets = sqliteTable('widgets', {
  org_id: text().notNull(),
  id: text().notNull(),
  name: text().notNull(),
  revision: integer().notNull(),
  mac: text().notNull(),
});
export type WidgetRow = typeof widgets.$inferSelect;
export const WIDGETS =
  'create table if not exists widgets (org_id text not null, id text not null, name text not null, revision integer not null, mac text not null, primary key (org_id, id))';

declare module '../../../src/db/rows' {
  interface RowTypes {
    widget: WidgetRow;
  }
}

export const widget = rowKind('widget', {
  table: widgets,
  space: () => '',
  key: (row) => row.name,
  maker: () => 'org',
  quota: lasting(3, undefined, 'widgets'),
});
