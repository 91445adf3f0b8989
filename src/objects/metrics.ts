// The sums of a deployment for `GET /metrics`: one Durable Object, to which isolates and gates add what they
// collected. Invariants: sums never decrease, except that an object that is lost within ten seconds after an
// addition loses it; a lag is the greatest of the last minute.
import { DurableObject } from 'cloudflare:workers';
import type { Env } from '../env';
import { add, METRICS, readKey, type Sums } from '../metrics/sums';

const STORES_AFTER = 10_000;
const LAG_FOR = 60_000;

const isLag = (key: string): boolean => {
  const known = readKey(key);
  return known !== null && METRICS[known.name].kind === 'lag';
};

export class Metrics extends DurableObject<Env> {
  private readonly sums: Sums;
  private readonly since: number;
  private lags: { at: number; key: string; numbers: number[] }[] = [];
  private isStoring = false;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    const { sql } = ctx.storage;
    sql.exec('create table if not exists sums (id integer primary key, since integer, sums text)');
    const [row] = sql.exec<{ since: number; sums: string }>('select since, sums from sums').toArray();
    this.since = row?.since ?? this.now();
    this.sums = new Map(row ? (JSON.parse(row.sums) as [string, number[]][]) : []);
  }

  protected now(): number {
    return Date.now();
  }

  async add(sums: Sums): Promise<void> {
    const at = this.now();
    for (const [key, numbers] of sums)
      if (isLag(key)) this.lags.push({ at, key, numbers });
      else add(this.sums, key, numbers);
    this.lags = this.lags.filter((one) => one.at > at - LAG_FOR);
    if (this.isStoring) return;
    this.isStoring = true;
    await this.ctx.storage.setAlarm(at + STORES_AFTER);
  }

  async read(): Promise<{ since: number; sums: Sums }> {
    const now = this.now();
    const sums: Sums = new Map(this.sums);
    for (const { at, key, numbers } of this.lags) if (at > now - LAG_FOR) add(sums, key, numbers);
    return { since: this.since, sums };
  }

  override async alarm(): Promise<void> {
    this.isStoring = false;
    this.ctx.storage.sql.exec(
      'insert or replace into sums values (1, ?, ?)',
      this.since,
      JSON.stringify([...this.sums]),
    );
  }
}
