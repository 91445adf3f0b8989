// The operations of the API that the console does not call, each with the reason. All others are called in
// its source.
export const apiOnly: Record<string, string> = {
  org_create: 'Requires the bootstrap token of the deployment, which must not be in a browser.',
  org_list: 'Requires the bootstrap token.',
  org_recover: 'Requires the bootstrap token.',
  org_accept_clock: 'Requires the bootstrap token.',
  org_adopt: 'Requires the bootstrap token.',
  org_reset_gate: 'Requires the bootstrap token.',
  audit_archive: 'Requires the bootstrap token: npm run backup calls it.',
  deployment_rewrap: 'Requires the bootstrap token: npm run keys:rotate calls it.',
  access_token_create: 'Requires an API key, which creates its own session tokens.',
  access_token_create_aws: 'Requires an API key, which creates its own sessions for clients of AWS.',
  secret_read_by_name: 'For programs, which use names. The console reads by id.',
  secret_read_all:
    'For programs. The console shows one value at a time, and compares environments without reading values.',
  secret_put: 'For programs, which create or update with one request. The console asks first.',
  provider_issue: 'Requires a provider token.',
  provider_rotate: 'Requires a provider token.',
  provider_revoke: 'Requires a provider token.',
  audit_histogram:
    'For programs. The overview has the activity of seven days; the audit page draws the entries that it reads.',
  event_read:
    'For programs that process each event. The console follows the stream, and shows the audit log.',
  secret_share_view: 'For people with a link, on the page /s/ID.',
  auth_enrol_options: 'On the page /enrol, which leads to the console.',
  auth_enrol: 'On the page /enrol, which leads to the console.',
  auth_device: 'For the program in the terminal that signs in.',
  auth_device_token: 'For the program in the terminal that signs in.',
  auth_device_lookup: 'On the page /device, where a terminal sends its user.',
  auth_device_confirm: 'On the page /device, where a terminal sends its user.',
  auth_device_deny: 'On the page /device, where a terminal sends its user.',
  member_readmit: 'Rare: with an API key of an owner. See the guide on SCIM.',
  auth_sso_start: 'On the page /sign-in, which leads to the console.',
  auth_sso_link_options: 'On the page /sso/link, which leads to the console.',
  auth_sso_link: 'On the page /sso/link, which leads to the console.',
  auth_exchange: 'For CI jobs and workloads, which have a token of their platform.',
};
