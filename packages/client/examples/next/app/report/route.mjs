// Next.js: the route handler of /report.
import { vault } from '../../lib/vault.mjs';

export const dynamic = 'force-dynamic'; // never rendered at build time, and never cached

export async function GET() {
  const token = await vault.get('REPORT_TOKEN');
  const answer = await fetch(process.env.REPORT_URL, {
    headers: { Authorization: `Bearer ${token.reveal()}` },
    cache: 'no-store',
  });
  return Response.json({ status: answer.status, version: token.version });
}
