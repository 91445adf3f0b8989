// Next.js: a server component. It uses a secret to fetch data, and passes no secret to a client component.
import { vault } from '../lib/vault.mjs';

export const dynamic = 'force-dynamic';

export default async function Page() {
  const token = await vault.get('REPORT_TOKEN');
  const answer = await fetch(process.env.REPORT_URL, {
    headers: { Authorization: `Bearer ${token.reveal()}` },
    cache: 'no-store',
  });
  return `The report is ${answer.status}, by version ${token.version}.`;
}
