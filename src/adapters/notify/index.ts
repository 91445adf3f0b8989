// The platforms that can receive messages. A new platform is a file, a name in platforms.ts and a line here.
import type { NotifyPlatform } from '../platforms';
import type { Adapter } from './adapter';
import { discord } from './discord';
import { email } from './email';
import { googleChat } from './google-chat';
import { mattermost } from './mattermost';
import { microsoftTeams } from './microsoft-teams';
import { opsgenie } from './opsgenie';
import { pagerduty } from './pagerduty';
import { slack } from './slack';
import { telegram } from './telegram';
import { webhook } from './webhook';

const list = [
  slack,
  microsoftTeams,
  discord,
  googleChat,
  mattermost,
  telegram,
  pagerduty,
  opsgenie,
  webhook,
  email,
];

export const adapters = Object.fromEntries(list.map((each) => [each.platform, each])) as Record<
  NotifyPlatform,
  Adapter
>;
