// A program with vendors' SDKs as they are. It holds no key: svc proxy starts it. With an argument, it calls
// the hosts themselves, through the HTTPS proxy.
import Anthropic from '@anthropic-ai/sdk';
import { Octokit } from '@octokit/rest';
import OpenAI from 'openai';
import Stripe from 'stripe';

const [host] = process.argv.slice(2);
const { env } = process;
const at = (name) => (host ? `${host}/${name}` : undefined);
const done = {};

const openai = new OpenAI({ baseURL: host && `${at('openai')}/v1` });
const ask = { model: 'm', messages: [{ role: 'user', content: 'hi' }], stream: true };
done.openai = '';
for await (const part of await openai.chat.completions.create(ask))
  done.openai += part.choices[0]?.delta?.content ?? '';

const anthropic = new Anthropic({ baseURL: at('anthropic') });
done.anthropic = '';
const told = { model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'hi' }] };
for await (const event of anthropic.messages.stream(told))
  if (event.type === 'content_block_delta') done.anthropic += event.delta.text;

// stripe-node takes a host and no path, so it uses the port of the upstream in both ways.
const { hostname, port } = new URL(env.STRIPE_API_BASE);
const stripe = new Stripe(env.STRIPE_SECRET_KEY, { host: hostname, port, protocol: 'http' });
const charge = await stripe.charges.create({ amount: 500, currency: 'usd', source: 'tok_visa' });
done.stripe = [charge.id, charge.amount];

const octokit = new Octokit({ auth: env.GITHUB_TOKEN, baseUrl: at('github') ?? env.GITHUB_API_URL });
done.octokit = (await octokit.paginate('GET /repos/{owner}/{repo}/issues', { owner: 'a', repo: 'b' })).map(
  ({ number }) => number,
);
console.log(JSON.stringify(done));
