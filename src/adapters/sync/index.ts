// The platforms that secrets are written to. A new one is a file, a name in ../platforms.ts and a line here.
import type { SyncPlatform } from '../platforms';
import type { SyncAdapter } from './adapter';
import { circleci } from './circleci';
import { fly } from './fly';
import { heroku } from './heroku';
import { render } from './render';

const list = [heroku, fly, render, circleci];

export const syncAdapters = Object.fromEntries(list.map((each) => [each.platform, each])) as Record<SyncPlatform, SyncAdapter>;
