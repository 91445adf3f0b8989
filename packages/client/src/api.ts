// Made by `npm run openapi` from openapi.json.

export interface paths {
    "/orgs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List organisations
         * @description Accepts the bootstrap token.
         */
        get: operations["org_list"];
        put?: never;
        /**
         * Create an organisation
         * @description The response holds the first API key, which has the scope *, and the enrolment link of the owner. Both are shown only once. The organisation starts with the environments development, staging and production; production is the default.
         *
         *     Accepts the bootstrap token.
         */
        post: operations["org_create"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/orgs/{org_id}/recovery": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Recover an organisation
         * @description For an organisation that has lost its API keys and passkeys. The response holds a new API key with the scope * and an enrolment link for an owner: the oldest one, unless email names another. The audit log keeps the reason.
         *
         *     Accepts the bootstrap token.
         */
        post: operations["org_recover"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/orgs/{org_id}/adopt": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Accept a database restored from a backup
         * @description Call it after you have restored the database from a backup. Secrets return to their state in the backup. Credentials, environments and revocations keep their current state, and secrets that were deleted since the backup stay deleted. Safe to repeat.
         *
         *     Accepts the bootstrap token.
         */
        post: operations["org_adopt"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/orgs/{org_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show the organisation and its usage
         * @description Accepts an API key, a session token, an agent credential or a browser session with the scope `org:read`.
         */
        get: operations["org_read"];
        put?: never;
        post?: never;
        /**
         * Delete the organisation
         * @description Destroys the key of the organisation at once, so that none of its secrets can ever be read again. Other data is purged in the background. This cannot be undone.
         *
         *     Accepts an API key, a session token, an agent credential or a browser session with the scope `org:write`. A browser session must have been confirmed with a passkey in the last five minutes (`POST /auth/confirm`).
         */
        delete: operations["org_delete"];
        options?: never;
        head?: never;
        /**
         * Change the organisation
         * @description Changes the name, the default environment, the IP addresses that members may use or the retention of the audit log. To change allowed_addresses, a browser session must have been confirmed with a passkey in the last five minutes (`POST /auth/confirm`), and its own address must be included. audit_retention_days can be changed by an owner, or by an API key that acts as one; a browser session must have been confirmed for it too.
         *
         *     Accepts an API key, a session token, an agent credential or a browser session with the scope `org:write`.
         */
        patch: operations["org_update"];
        trace?: never;
    };
    "/orgs/{org_id}/environments": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List environments
         * @description Accepts an API key, a session token, an agent credential or a browser session with the scope `environments:read`.
         */
        get: operations["environment_list"];
        put?: never;
        /**
         * Create an environment
         * @description Accepts an API key, a session token, an agent credential or a browser session with the scope `environments:write`.
         */
        post: operations["environment_create"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/orgs/{org_id}/environments/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show an environment
         * @description Accepts an API key, a session token, an agent credential or a browser session with the scope `environments:read`.
         */
        get: operations["environment_read"];
        put?: never;
        post?: never;
        /**
         * Delete an environment
         * @description The environment must not contain secrets or be the default environment.
         *
         *     Accepts an API key, a session token, an agent credential or a browser session with the scope `environments:write`.
         */
        delete: operations["environment_delete"];
        options?: never;
        head?: never;
        /**
         * Rename an environment
         * @description The slug does not change.
         *
         *     Accepts an API key, a session token, an agent credential or a browser session with the scope `environments:write`.
         */
        patch: operations["environment_update"];
        trace?: never;
    };
    "/orgs/{org_id}/roles": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List roles and their scopes
         * @description Accepts an API key, a session token, an agent credential or a browser session. No scope is needed.
         */
        get: operations["role_list"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/orgs/{org_id}/members": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List members
         * @description Accepts an API key, a session token, an agent credential or a browser session with the scope `members:read`.
         */
        get: operations["member_list"];
        put?: never;
        /**
         * Invite a member
         * @description The response holds a link where the member registers a passkey. Send it to the member. The caller must hold everything that the role gives. Only an owner can invite an owner, with an API key or in a browser session that was confirmed with a passkey in the last five minutes (`POST /auth/confirm`).
         *
         *     Accepts an API key, a session token, an agent credential or a browser session with the scope `members:write`.
         */
        post: operations["member_create"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/orgs/{org_id}/members/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show a member
         * @description Accepts an API key, a session token, an agent credential or a browser session with the scope `members:read`.
         */
        get: operations["member_read"];
        put?: never;
        post?: never;
        /**
         * Remove a member
         * @description The browser sessions of the member are refused as soon as this call returns. Passkeys, team memberships and grants are deleted. The response lists the live credentials that the member created. They stay valid unless you send revoke_credentials=true, which needs tokens:write. To remove an owner, a browser session must have been confirmed with a passkey in the last five minutes (`POST /auth/confirm`).
         *
         *     Accepts an API key, a session token, an agent credential or a browser session with the scope `members:write`.
         */
        delete: operations["member_delete"];
        options?: never;
        head?: never;
        /**
         * Change the name, email address or role of a member
         * @description The caller must hold everything that the old and the new role give. The last owner cannot be given another role. If the role changes, an unused enrolment link that somebody else created is no longer valid. To make or demote an owner, a browser session must have been confirmed with a passkey in the last five minutes (`POST /auth/confirm`).
         *
         *     Accepts an API key, a session token, an agent credential or a browser session with the scope `members:write`.
         */
        patch: operations["member_update"];
        trace?: never;
    };
    "/orgs/{org_id}/members/{id}/enrolments": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Create a new enrolment link
         * @description The new link replaces an unused one. The passkeys of the member stay.
         *
         *     Accepts a browser session of an owner, or an API key that holds `*` without limits. A browser session must have been confirmed with a passkey in the last five minutes (`POST /auth/confirm`).
         */
        post: operations["member_enrol"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/orgs/{org_id}/members/{id}/access": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Explain the access of a member
         * @description Answers whether the member may use a scope, and names the role or the grants that allow it. The decision uses the same rules as requests do.
         *
         *     Accepts an API key, a session token, an agent credential or a browser session with the scope `members:read`.
         */
        get: operations["member_access"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/orgs/{org_id}/members/{id}/passkeys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the passkeys of a member
         * @description Members need no scope for their own passkeys.
         *
         *     Accepts an API key, a session token, an agent credential or a browser session with the scope `members:read`.
         */
        get: operations["passkey_list"];
        put?: never;
        /**
         * Add a passkey
         * @description Only the member can call it, in a browser session.
         *
         *     Accepts a browser session. No scope is needed. A browser session must have been confirmed with a passkey in the last five minutes (`POST /auth/confirm`).
         */
        post: operations["passkey_create"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/orgs/{org_id}/members/{id}/passkeys/options": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Get options to add a passkey
         * @description Pass them to navigator.credentials.create(). Only the member can call it, in a browser session. The options work once and for five minutes.
         *
         *     Accepts a browser session. No scope is needed. A browser session must have been confirmed with a passkey in the last five minutes (`POST /auth/confirm`).
         */
        post: operations["passkey_options"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/orgs/{org_id}/members/{id}/passkeys/{passkey_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Remove a passkey
         * @description Browser sessions that were started with the passkey end at once. The last passkey of a member cannot be removed.
         *
         *     Accepts an API key, a session token, an agent credential or a browser session with the scope `members:write`. A browser session must have been confirmed with a passkey in the last five minutes (`POST /auth/confirm`).
         */
        delete: operations["passkey_delete"];
        options?: never;
        head?: never;
        /**
         * Rename a passkey
         * @description Members need no scope for their own passkeys. For those of others, the caller must be allowed to change that member.
         *
         *     Accepts an API key, a session token, an agent credential or a browser session with the scope `members:write`. A browser session must have been confirmed with a passkey in the last five minutes (`POST /auth/confirm`).
         */
        patch: operations["passkey_update"];
        trace?: never;
    };
    "/orgs/{org_id}/teams": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List teams
         * @description Accepts an API key, a session token, an agent credential or a browser session with the scope `teams:read`.
         */
        get: operations["team_list"];
        put?: never;
        /**
         * Create a team
         * @description Accepts an API key, a session token, an agent credential or a browser session with the scope `teams:write`.
         */
        post: operations["team_create"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/orgs/{org_id}/teams/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show a team
         * @description Accepts an API key, a session token, an agent credential or a browser session with the scope `teams:read`.
         */
        get: operations["team_read"];
        put?: never;
        post?: never;
        /**
         * Delete a team
         * @description Also deletes the memberships and grants of the team.
         *
         *     Accepts an API key, a session token, an agent credential or a browser session with the scope `teams:write`.
         */
        delete: operations["team_delete"];
        options?: never;
        head?: never;
        /**
         * Rename a team
         * @description Accepts an API key, a session token, an agent credential or a browser session with the scope `teams:write`.
         */
        patch: operations["team_update"];
        trace?: never;
    };
    "/orgs/{org_id}/teams/{id}/members": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the members of a team
         * @description Accepts an API key, a session token, an agent credential or a browser session with the scope `teams:read`.
         */
        get: operations["team_member_list"];
        put?: never;
        /**
         * Add a member to a team
         * @description The caller must hold everything that the grants of the team give. Safe to repeat.
         *
         *     Accepts an API key, a session token, an agent credential or a browser session with the scope `teams:write`.
         */
        post: operations["team_member_add"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/orgs/{org_id}/teams/{id}/members/{member_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Remove a member from a team
         * @description Accepts an API key, a session token, an agent credential or a browser session with the scope `teams:write`.
         */
        delete: operations["team_member_remove"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/orgs/{org_id}/grants": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List live grants
         * @description Accepts an API key, a session token, an agent credential or a browser session with the scope `members:read`.
         */
        get: operations["grant_list"];
        put?: never;
        /**
         * Create a grant
         * @description Gives a member or a team access to secrets in addition to roles. The caller must hold what it grants. A grant that a session token or an agent creates ends with its creator.
         *
         *     Accepts an API key, a session token, an agent credential or a browser session with the scope `members:write`.
         */
        post: operations["grant_create"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/orgs/{org_id}/grants/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show a grant
         * @description Accepts an API key, a session token, an agent credential or a browser session with the scope `members:read`.
         */
        get: operations["grant_read"];
        put?: never;
        post?: never;
        /**
         * Delete a grant
         * @description The access ends as soon as this call returns.
         *
         *     Accepts an API key, a session token, an agent credential or a browser session with the scope `members:write`.
         */
        delete: operations["grant_delete"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/whoami": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show the calling credential
         * @description Returns its kind, scopes, environments, names, lifetime and rate limit.
         *
         *     Accepts an API key, a session token, an agent credential, a browser session, a provider token or a break-glass token. No scope is needed.
         */
        get: operations["caller_read"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/orgs/{org_id}/api-keys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List live API keys
         * @description Accepts an API key, a session token, an agent credential or a browser session with the scope `tokens:read`.
         */
        get: operations["api_key_list"];
        put?: never;
        /**
         * Create an API key
         * @description The key cannot hold more than its creator. A key that a session token or an agent creates ends with its creator. To create a key that acts as an owner, a browser session must have been confirmed with a passkey in the last five minutes (`POST /auth/confirm`).
         *
         *     Accepts an API key, a session token, an agent credential or a browser session with the scope `tokens:write`.
         */
        post: operations["api_key_create"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/orgs/{org_id}/api-keys/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show an API key
         * @description Accepts an API key, a session token, an agent credential or a browser session with the scope `tokens:read`.
         */
        get: operations["api_key_read"];
        put?: never;
        post?: never;
        /**
         * Revoke an API key
         * @description The key and its session tokens are refused as soon as this call returns. A key can revoke itself without a scope.
         *
         *     Accepts an API key, a session token, an agent credential or a browser session with the scope `tokens:write`.
         */
        delete: operations["api_key_revoke"];
        options?: never;
        head?: never;
        /**
         * Change the name or allowed addresses of an API key
         * @description Accepts an API key, a session token, an agent credential or a browser session with the scope `tokens:write`.
         */
        patch: operations["api_key_update"];
        trace?: never;
    };
    "/orgs/{org_id}/api-keys/{id}/rotate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Rotate an API key
         * @description Creates a new key with the same scopes and limits. The old key and its session tokens end after overlap_seconds, or at once without it.
         *
         *     Accepts an API key, a session token, an agent credential or a browser session with the scope `tokens:write`.
         */
        post: operations["api_key_rotate"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/orgs/{org_id}/access-tokens": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List live session tokens
         * @description Accepts an API key, a session token, an agent credential or a browser session with the scope `tokens:read`.
         */
        get: operations["access_token_list"];
        put?: never;
        /**
         * Create a session token
         * @description An API key creates session tokens of itself. A token holds a subset of what its key holds and ends with the key. With device_id, each request with the token needs a DPoP proof (RFC 9449) of that device.
         *
         *     Accepts an API key. No scope is needed.
         */
        post: operations["access_token_create"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/orgs/{org_id}/access-tokens/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Revoke a session token
         * @description The token is refused as soon as this call returns. A token can revoke itself, and a key can revoke its own tokens, without a scope.
         *
         *     Accepts an API key, a session token, an agent credential or a browser session with the scope `tokens:write`.
         */
        delete: operations["access_token_revoke"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/orgs/{org_id}/agent-credentials": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List live agent credentials
         * @description Accepts an API key, a session token, an agent credential or a browser session with the scope `tokens:read`.
         */
        get: operations["agent_list"];
        put?: never;
        /**
         * Create an agent credential
         * @description For an AI agent. It is limited to the scopes, environments and names that you give it, and cannot hold more than its creator. Credentials that an agent creates end with it. With device_id, each request with the token needs a DPoP proof (RFC 9449) of that device. The token is also accepted with the prefix svc_agent_.
         *
         *     Accepts an API key, a session token, an agent credential or a browser session with the scope `tokens:write`.
         */
        post: operations["agent_create"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/orgs/{org_id}/agent-credentials/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show an agent credential
         * @description Accepts an API key, a session token, an agent credential or a browser session with the scope `tokens:read`.
         */
        get: operations["agent_read"];
        put?: never;
        post?: never;
        /**
         * Revoke an agent credential
         * @description The agent and all credentials that it created are refused as soon as this call returns. An agent can revoke itself without a scope.
         *
         *     Accepts an API key, a session token, an agent credential or a browser session with the scope `tokens:write`.
         */
        delete: operations["agent_revoke"];
        options?: never;
        head?: never;
        /**
         * Change an agent credential
         * @description The change applies to the next request of the agent. The caller must hold whatever the change adds. To take something away, tokens:write is enough.
         *
         *     Accepts an API key, a session token, an agent credential or a browser session with the scope `tokens:write`.
         */
        patch: operations["agent_update"];
        trace?: never;
    };
    "/orgs/{org_id}/provider-tokens": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List live provider tokens
         * @description Accepts an API key, a session token, an agent credential or a browser session with the scope `tokens:read`.
         */
        get: operations["provider_token_list"];
        put?: never;
        /**
         * Create a provider token
         * @description For a platform that issues credentials. The token works only for /provider/*. Its creator must hold secrets:write for the scope issue, secrets:rotate for rotate and secrets:delete for revoke, and must not have a lifetime.
         *
         *     Accepts an API key, a session token, an agent credential or a browser session with the scope `tokens:write`.
         */
        post: operations["provider_token_create"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/orgs/{org_id}/provider-tokens/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Revoke a provider token
         * @description The token is refused as soon as this call returns. Secrets that it issued stay.
         *
         *     Accepts an API key, a session token, an agent credential or a browser session with the scope `tokens:write`.
         */
        delete: operations["provider_token_revoke"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/orgs/{org_id}/break-glass-tokens": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List live break-glass tokens
         * @description Accepts an API key, a session token, an agent credential or a browser session with the scope `tokens:read`.
         */
        get: operations["break_glass_list"];
        put?: never;
        /**
         * Create a break-glass token
         * @description For emergencies. The token can list, read, write, rotate and delete all secrets of the organisation and read the audit log, for at most four hours. An owner, an admin or an API key with the scope * can create one; at most five can be live. The audit log marks its creation and every use.
         *
         *     Accepts an API key or a browser session with the scope `*`.
         */
        post: operations["break_glass_create"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/orgs/{org_id}/break-glass-tokens/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Revoke a break-glass token
         * @description The token is refused as soon as this call returns.
         *
         *     Accepts an API key, a session token, an agent credential or a browser session with the scope `tokens:write`.
         */
        delete: operations["break_glass_revoke"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/orgs/{org_id}/secrets/by-name/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read a secret by name
         * @description The name may contain slashes, percent-encoded or not. Without environment, the default environment is used. For a name that the caller may not read the response is 403, whether the secret exists or not.
         *
         *     Accepts an API key, a session token, an agent credential, a browser session or a break-glass token with the scope `secrets:read`.
         */
        get: operations["secret_read_by_name"];
        /**
         * Create or update a secret by name
         * @description Creates the secret (201), or updates the one that has the name as PATCH does (200). An equal value makes no new version if the caller may read it. With `If-None-Match: *` it only creates. PUT is idempotent: it takes no Idempotency-Key.
         *
         *     Accepts an API key, a session token, an agent credential, a browser session or a break-glass token with the scope `secrets:write`.
         */
        put: operations["secret_put"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/orgs/{org_id}/secrets": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List secrets
         * @description Returns metadata without values. If the caller is limited to some names, a page can have fewer items than limit. Continue until next_cursor is null. With delimiter, it lists one folder: its folders and its secrets. A folder is listed if the caller may list a secret in it.
         *
         *     Accepts an API key, a session token, an agent credential, a browser session or a break-glass token with one of the scopes `secrets:list`, `secrets:read`.
         */
        get: operations["secret_list"];
        put?: never;
        /**
         * Create a secret
         * @description Send the value, or generate to have one generated. The response holds a generated value once, and no value otherwise. An ssh_key is generated in OpenSSH PEM format, with its public_key.
         *
         *     Accepts an API key, a session token, an agent credential, a browser session or a break-glass token with the scope `secrets:write`.
         */
        post: operations["secret_create"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/orgs/{org_id}/secrets/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read a secret
         * @description Returns the metadata and the value. With version, it returns an earlier value.
         *
         *     Accepts an API key, a session token, an agent credential, a browser session or a break-glass token with the scope `secrets:read`.
         */
        get: operations["secret_read"];
        put?: never;
        post?: never;
        /**
         * Delete a secret
         * @description The secret becomes unreadable at once. It can be restored for seven days. With permanent=true, all its values are destroyed now and it cannot be restored.
         *
         *     Accepts an API key, a session token, an agent credential, a browser session or a break-glass token with the scope `secrets:delete`.
         */
        delete: operations["secret_delete"];
        options?: never;
        head?: never;
        /**
         * Change a secret
         * @description A new value creates a new version. If the value is equal to the current one and the caller may read it, no version is created. A new lifetime makes an expired secret active again.
         *
         *     Accepts an API key, a session token, an agent credential, a browser session or a break-glass token with the scope `secrets:write`.
         */
        patch: operations["secret_update"];
        trace?: never;
    };
    "/orgs/{org_id}/secrets/{id}/rotate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Rotate a secret
         * @description Stores the new value from the request, or generates one that fits the type and returns it once. An ssh_key is generated in OpenSSH PEM format, with its public_key. For an api_key, env_var or generic secret whose current value was not generated by this service, generate is required: otherwise a random string could replace a value that was issued elsewhere.
         *
         *     Accepts an API key, a session token, an agent credential, a browser session or a break-glass token with the scope `secrets:rotate`.
         */
        post: operations["secret_rotate"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/orgs/{org_id}/secrets/{id}/versions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the versions of a secret
         * @description Returns versions without values, newest first. A secret keeps its newest 1,000 versions.
         *
         *     Accepts an API key, a session token, an agent credential, a browser session or a break-glass token with one of the scopes `secrets:list`, `secrets:read`.
         */
        get: operations["secret_versions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/orgs/{org_id}/secrets/{id}/rollback": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Roll back to an earlier version
         * @description Creates a new version with the value of an earlier one.
         *
         *     Accepts an API key, a session token, an agent credential, a browser session or a break-glass token with the scope `secrets:write`.
         */
        post: operations["secret_rollback"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/orgs/{org_id}/secrets/{id}/restore": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Restore a deleted secret
         * @description Possible for seven days after the deletion, unless the secret was deleted with permanent=true.
         *
         *     Accepts an API key, a session token, an agent credential, a browser session or a break-glass token with the scope `secrets:delete`.
         */
        post: operations["secret_restore"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/orgs/{org_id}/environments/{environment}/values": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read all values of an environment
         * @description Returns all values that the caller may read, up to 2,000 secrets and 16 MiB, with an ETag. With If-None-Match, the response is 304 if nothing has changed.
         *
         *     Accepts an API key, a session token, an agent credential, a browser session or a break-glass token with the scope `secrets:read`.
         */
        get: operations["secret_read_all"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/provider/issue": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Issue a secret
         * @description Stores a value with a lifetime. If the name is new, a secret of type generic is created (201). Otherwise the secret gets a new version (200), and an expired or revoked secret becomes active again. Revoked versions stay unreadable.
         *
         *     Accepts a provider token with the scope `issue`.
         */
        post: operations["provider_issue"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/provider/rotate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Rotate an issued secret
         * @description Stores a new value and starts the last lifetime again. An expired secret becomes active again. For a revoked secret the call fails with 409 SECRET_REVOKED: issue it again instead.
         *
         *     Accepts a provider token with the scope `rotate`.
         */
        post: operations["provider_rotate"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/provider/revoke": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Revoke an issued secret
         * @description Makes all existing versions unreadable at once and for ever. Safe to repeat: the response stays the same.
         *
         *     Accepts a provider token with the scope `revoke`.
         */
        post: operations["provider_revoke"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/orgs/{org_id}/policies": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List policies
         * @description Accepts an API key, a session token, an agent credential or a browser session with the scope `policies:read`.
         */
        get: operations["policy_list"];
        put?: never;
        /**
         * Create a policy
         * @description A naming policy refuses names, a rotation policy says how old values may become, an approval policy holds requests until people approve them. It applies from the next request on.
         *
         *     Accepts an API key, a session token, an agent credential or a browser session with the scope `policies:write`.
         */
        post: operations["policy_create"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/orgs/{org_id}/policies/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show a policy
         * @description Accepts an API key, a session token, an agent credential or a browser session with the scope `policies:read`.
         */
        get: operations["policy_read"];
        put?: never;
        post?: never;
        /**
         * Delete a policy
         * @description Accepts an API key, a session token, an agent credential or a browser session with the scope `policies:write`.
         */
        delete: operations["policy_delete"];
        options?: never;
        head?: never;
        /**
         * Change a policy
         * @description Changes the fields that are sent; applies_to and config are replaced as a whole. The kind cannot change.
         *
         *     Accepts an API key, a session token, an agent credential or a browser session with the scope `policies:write`.
         */
        patch: operations["policy_update"];
        trace?: never;
    };
    "/orgs/{org_id}/policies/{id}/violations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the secrets that violate a naming policy
         * @description Returns secrets that were named before the policy, as far as the caller may list them. A policy that is not enabled has violations too. A page can have fewer items than limit. Continue until next_cursor is null.
         *
         *     Accepts an API key, a session token, an agent credential or a browser session with the scope `policies:read`.
         */
        get: operations["policy_violations"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/orgs/{org_id}/approvals": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List approvals
         * @description Returns the requests that approval policies held, oldest first. A credential that is limited to environments or names sees its own alone.
         *
         *     Accepts an API key, a session token, an agent credential or a browser session with the scope `approvals:read`.
         */
        get: operations["approval_list"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/orgs/{org_id}/approvals/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show an approval
         * @description With wait, the response is held until the approval is decided, or for so many seconds. Whoever made the request needs no scope.
         *
         *     Accepts an API key, a session token, an agent credential or a browser session with the scope `approvals:read`.
         */
        get: operations["approval_read"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/orgs/{org_id}/approvals/{id}/approve": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Approve a request
         * @description For members in a browser session, confirmed with a passkey in the last five minutes. Each member counts once. The requester, members who are accountable for the requesting credential, and members whom these invited, re-enrolled, promoted or added to the approving team within seven days cannot decide.
         *
         *     Accepts a browser session with the scope `approvals:decide`. A browser session must have been confirmed with a passkey in the last five minutes (`POST /auth/confirm`).
         */
        post: operations["approval_approve"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/orgs/{org_id}/approvals/{id}/reject": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Reject a request
         * @description One rejection ends the request.
         *
         *     Accepts a browser session with the scope `approvals:decide`.
         */
        post: operations["approval_reject"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/orgs/{org_id}/approvals/{id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Cancel a request
         * @description For whoever made the request. A pending or approved request can be cancelled until it is used.
         *
         *     Accepts an API key, a session token, an agent credential or a browser session with the scope `approvals:read`.
         */
        post: operations["approval_cancel"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/orgs/{org_id}/devices": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List devices
         * @description Accepts an API key, a session token, an agent credential or a browser session with the scope `devices:read`.
         */
        get: operations["device_list"];
        put?: never;
        /**
         * Register a device
         * @description With a public key, session tokens and agent credentials can be bound to the device (`device_id`). Each request with such a credential needs a DPoP proof (RFC 9449) signed by the private key, which never leaves the device.
         *
         *     Accepts an API key, a session token, an agent credential or a browser session with the scope `devices:write`.
         */
        post: operations["device_create"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/orgs/{org_id}/devices/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show a device
         * @description Accepts an API key, a session token, an agent credential or a browser session with the scope `devices:read`.
         */
        get: operations["device_read"];
        put?: never;
        post?: never;
        /**
         * Remove a device
         * @description Credentials that are bound to the device are refused as soon as this call returns.
         *
         *     Accepts an API key, a session token, an agent credential or a browser session with the scope `devices:write`.
         */
        delete: operations["device_delete"];
        options?: never;
        head?: never;
        /**
         * Change the name, platform or serial number of a device
         * @description The public key cannot be changed. To replace a key, register the device again and remove the old one.
         *
         *     Accepts an API key, a session token, an agent credential or a browser session with the scope `devices:write`.
         */
        patch: operations["device_update"];
        trace?: never;
    };
    "/orgs/{org_id}/devices/{id}/assign": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Assign a device to a member
         * @description null unassigns it. Credentials that are bound to the device stay valid. A blocked device, or one whose member was removed, cannot be assigned: register it again with a new key.
         *
         *     Accepts an API key, a session token, an agent credential or a browser session with the scope `devices:write`.
         */
        post: operations["device_assign"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/orgs/{org_id}/devices/{id}/block": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Block a device
         * @description For a device that is lost or no longer trusted. Credentials that are bound to it are refused as soon as this call returns. A blocked device stays blocked. Safe to repeat.
         *
         *     Accepts an API key, a session token, an agent credential or a browser session with the scope `devices:write`.
         */
        post: operations["device_block"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/orgs/{org_id}/audit-log": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the audit log
         * @description Returns entries, newest first. Every request with a credential of the organisation has an entry. Entries form a hash chain and never change. A credential that is limited to environments or names sees its own entries and those about resources that it can reach.
         *
         *     Accepts an API key, a session token, an agent credential, a browser session or a break-glass token with the scope `audit:read`.
         */
        get: operations["audit_read"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/orgs/{org_id}/audit-log/verify": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Verify the audit log
         * @description Recalculates the hash chain part by part. Pass next as cursor until it is null. The response names the first entry that does not match.
         *
         *     Accepts an API key, a session token, an agent credential, a browser session or a break-glass token with the scope `audit:read`.
         */
        get: operations["audit_verify"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/orgs/{org_id}/audit-log/checkpoints": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List signed checkpoints of the audit log
         * @description Returns checkpoints, newest first. A checkpoint is a signature over the sequence and the hash of an entry. It is made when a segment closes, and every ten minutes while there are new entries. Whoever keeps a checkpoint notices when the log is changed or cut off later.
         *
         *     Accepts an API key, a session token, an agent credential or a browser session with the scope `audit:read`.
         */
        get: operations["audit_checkpoints"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/orgs/{org_id}/audit-log/key": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show the public key that checkpoints are signed with
         * @description The key is derived from the key of the organisation and does not change. Keep a copy of it outside the service.
         *
         *     Accepts an API key, a session token, an agent credential or a browser session with the scope `audit:read`.
         */
        get: operations["audit_key"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/orgs/{org_id}/audit-log/export": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Export the audit log entries that are past retention
         * @description Streams the entries, oldest first, one per line. The last line is `{ "checkpoint": { … } }`: the signed checkpoint at which they end. An export without this line was cut off. The response is empty if no entries are past retention.
         *
         *     Accepts an API key, a session token, an agent credential or a browser session with the scope `audit:read`.
         */
        get: operations["audit_export"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/orgs/{org_id}/audit-log/export/confirm": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Confirm an export, so that its entries can be deleted
         * @description Needed if audit_retention_days of the organisation is set: then entries past retention are deleted only after their export is confirmed. Check the export with `npm run audit:verify` and store it first. Safe to repeat.
         *
         *     Accepts a browser session of an owner, or an API key that holds `*` without limits. A browser session must have been confirmed with a passkey in the last five minutes (`POST /auth/confirm`).
         */
        post: operations["audit_export_confirm"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/orgs/{org_id}/secrets/{id}/readers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List who read a secret last
         * @description Returns the credentials and members that read the secret, the last reader first, so that you see who is affected before you rotate it. The session tokens of an API key count as one reader. A request that was answered with 304 counts as a read. For a bulk read, names are compared with the prefix of the request.
         *
         *     Accepts an API key, a session token, an agent credential or a browser session with the scope `audit:read`.
         */
        get: operations["audit_readers"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/orgs/{org_id}/audit-log/archive": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Move the newest audit log entries to the database
         * @description `npm run backup` calls it, so that the backup contains every entry up to that time. Safe to repeat.
         *
         *     Accepts the bootstrap token.
         */
        post: operations["audit_archive"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/orgs/{org_id}/compliance/report": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Make the compliance report
         * @description Tests the organisation against thresholds, and lists what was found with evidence, a remedy and the controls of SOC 2 and ISO/IEC 27001:2022 that each finding is about. Secrets, credentials, members and devices are reported as they are now; what comes from the audit log and from approvals is of the period. The report never holds a value or a token. It covers the whole organisation, so a credential that is limited to environments or names is refused.
         *
         *     Accepts an API key, a session token, an agent credential or a browser session with the scope `compliance:read`.
         */
        get: operations["compliance_report"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/orgs/{org_id}/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List events
         * @description Returns events, oldest first. Events are kept for 30 days. A credential with events:read and no limits sees all kinds. One that is limited to environments or names, or that holds only secrets:list or secrets:read, sees the kinds SECRET_* of the names that it reaches.
         *
         *     Accepts an API key, a session token, an agent credential or a browser session with one of the scopes `events:read`, `secrets:list`, `secrets:read`.
         */
        get: operations["event_read"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/orgs/{org_id}/events/stream": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Stream events
         * @description Sends events as they happen, as Server-Sent Events: id is the sequence, event the kind, data the event. A comment comes every 25 seconds. The stream ends when its credential does, and after an hour at most; clients connect again with Last-Event-ID and miss nothing. With Upgrade: websocket, each event is one JSON message; after resumes.
         *
         *     Accepts an API key, a session token, an agent credential or a browser session with one of the scopes `events:read`, `secrets:list`, `secrets:read`.
         */
        get: operations["event_stream"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/orgs/{org_id}/webhooks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List webhooks
         * @description Accepts an API key, a session token, an agent credential or a browser session with the scope `webhooks:read`.
         */
        get: operations["webhook_list"];
        put?: never;
        /**
         * Create a webhook
         * @description Events from now on are sent to the URL as signed POST requests. The response holds the signing secret once. A credential that is limited to environments or names cannot use webhooks.
         *
         *     Accepts an API key, a session token, an agent credential or a browser session with the scope `webhooks:write`.
         */
        post: operations["webhook_create"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/orgs/{org_id}/webhooks/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show a webhook
         * @description Accepts an API key, a session token, an agent credential or a browser session with the scope `webhooks:read`.
         */
        get: operations["webhook_read"];
        put?: never;
        post?: never;
        /**
         * Delete a webhook
         * @description Also deletes its deliveries.
         *
         *     Accepts an API key, a session token, an agent credential or a browser session with the scope `webhooks:write`.
         */
        delete: operations["webhook_delete"];
        options?: never;
        head?: never;
        /**
         * Change a webhook
         * @description A new URL is signed with the same secret. While a webhook is disabled it gets no deliveries, and those that wait have failed; `POST /webhooks/:id/redeliver` sends them once it is enabled again. Events that happen meanwhile are in the feed alone.
         *
         *     Accepts an API key, a session token, an agent credential or a browser session with the scope `webhooks:write`.
         */
        patch: operations["webhook_update"];
        trace?: never;
    };
    "/orgs/{org_id}/webhooks/{id}/rotate-secret": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Rotate the signing secret of a webhook
         * @description The response holds the new secret once. For the overlap, `webhook-signature` lists signatures by both secrets, and `X-Svc-Signature` stays with the old one. A secret that was already being replaced ends at once.
         *
         *     Accepts an API key, a session token, an agent credential or a browser session with the scope `webhooks:write`.
         */
        post: operations["webhook_rotate_secret"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/orgs/{org_id}/webhooks/{id}/test": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send a test event to a webhook
         * @description Sends an event of the type `WEBHOOK_TEST` at once, in one attempt, to a disabled webhook too. The answer is 200 whatever came of it: `status` is `delivered` or `failed`.
         *
         *     Accepts an API key, a session token, an agent credential or a browser session with the scope `webhooks:write`.
         */
        post: operations["webhook_test"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/orgs/{org_id}/webhooks/{id}/deliveries": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the deliveries of a webhook
         * @description Newest first. Deliveries are kept for 30 days.
         *
         *     Accepts an API key, a session token, an agent credential or a browser session with the scope `webhooks:read`.
         */
        get: operations["webhook_deliveries"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/orgs/{org_id}/webhooks/{id}/deliveries/{delivery_id}/redeliver": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send a delivery again
         * @description Whatever its status: it is pending again, with as many attempts as a new one, and the same `webhook-id`.
         *
         *     Accepts an API key, a session token, an agent credential or a browser session with the scope `webhooks:write`.
         */
        post: operations["webhook_redeliver"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/orgs/{org_id}/webhooks/{id}/redeliver": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send all failed deliveries since a time again
         * @description Up to 1,000 in one call, oldest first; test events are left out.
         *
         *     Accepts an API key, a session token, an agent credential or a browser session with the scope `webhooks:write`.
         */
        post: operations["webhook_redeliver_since"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/orgs/{org_id}/integrations/generate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Generate a file of secrets
         * @description Also needs secrets:read. The program that reads the format gets each value back byte for byte; otherwise the response is 422, with each secret at fault in details. If an approval policy covers one of the secrets, the whole file waits for approval. The same secrets give the same file, except for github-actions, whose delimiters are random.
         *
         *     Accepts an API key, a session token, an agent credential or a browser session with the scope `integrations:generate`.
         */
        post: operations["integration_generate"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/orgs/{org_id}/integrations/import": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Import secrets
         * @description Reads the export of another secrets manager, and creates its secrets, all of them in one transaction. Names are kept where a secret may have them; other characters become _. An item that cannot be imported is in failed, and stops no other. Needs the scope secrets:write too. Items outside the name patterns of the credential fail with NOT_ALLOWED. Up to 5,000 items.
         *
         *     Accepts an API key, a session token, an agent credential or a browser session with the scope `integrations:import`.
         */
        post: operations["integration_import"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/orgs/{org_id}/integrations/platforms": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the platforms
         * @description Returns every platform with the JSON Schema of its config.
         *
         *     Accepts an API key, a session token, an agent credential or a browser session with the scope `integrations:read`.
         */
        get: operations["integration_platforms"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/orgs/{org_id}/integrations/notify": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send a message to a platform
         * @description To a stored connection, or to a platform with a config that is forgotten once the call has ended. It is one try: the response says how it ended. The text cannot mention, ping or format anything on the platform.
         *
         *     Accepts an API key, a session token, an agent credential or a browser session with the scope `integrations:notify`.
         */
        post: operations["integration_notify"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/orgs/{org_id}/integrations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the connections
         * @description Accepts an API key, a session token, an agent credential or a browser session with the scope `integrations:read`.
         */
        get: operations["integration_list"];
        put?: never;
        /**
         * Store a connection
         * @description Of kind notify: messages about the events are sent there; a credential that is limited to environments or names cannot store one. Of kind sync: secrets are written there by POST …/sync, or automatically; it needs secrets:read, too. Credentials in config are encrypted and never returned.
         *
         *     Accepts an API key, a session token, an agent credential or a browser session with the scope `integrations:write`.
         */
        post: operations["integration_create"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/orgs/{org_id}/integrations/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show a connection
         * @description Accepts an API key, a session token, an agent credential or a browser session with the scope `integrations:read`.
         */
        get: operations["integration_read"];
        put?: never;
        post?: never;
        /**
         * Remove a connection
         * @description From then on nothing is sent there.
         *
         *     Accepts an API key, a session token, an agent credential or a browser session with the scope `integrations:write`.
         */
        delete: operations["integration_delete"];
        options?: never;
        head?: never;
        /**
         * Change a connection
         * @description Fields of config are merged, and the result is checked as a whole. A change of a field that is no credential erases the stored credentials: send them in the same call. kind and platform cannot be changed.
         *
         *     Accepts an API key, a session token, an agent credential or a browser session with the scope `integrations:write`.
         */
        patch: operations["integration_update"];
        trace?: never;
    };
    "/orgs/{org_id}/integrations/sync": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Sync secrets to a platform
         * @description Writes the secrets of an environment to a platform, in the background. Values are read when the work begins. With a config, the caller needs secrets:read, too; a stored connection sends what its maker may read. With dryRun=true the response is 200 and says what would happen.
         *
         *     Accepts an API key, a session token, an agent credential or a browser session with the scope `integrations:sync`.
         */
        post: operations["integration_sync"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/orgs/{org_id}/integrations/syncs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the syncs
         * @description Newest first. Syncs are kept for 30 days.
         *
         *     Accepts an API key, a session token, an agent credential or a browser session with one of the scopes `integrations:read`, `integrations:sync`.
         */
        get: operations["integration_syncs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/orgs/{org_id}/integrations/syncs/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show a sync
         * @description Accepts an API key, a session token, an agent credential or a browser session with one of the scopes `integrations:read`, `integrations:sync`.
         */
        get: operations["integration_sync_status"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/orgs/{org_id}/integrations/syncs/{id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Cancel a sync
         * @description What is not written yet is not attempted. A name that is being written at this moment is finished.
         *
         *     Accepts an API key, a session token, an agent credential or a browser session with the scope `integrations:sync`.
         */
        post: operations["integration_sync_cancel"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/orgs/{org_id}/secrets/{id}/share": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Share a secret
         * @description Makes a link that shows the current version, or a grant of this secret to a member, team or agent. The caller also needs secrets:read for the secret. The response holds the address of a link once. A link ends after its views or its lifetime, with its secret, and with the credential or member that made it.
         *
         *     Accepts an API key, a session token, an agent credential or a browser session with the scope `secrets:share`.
         */
        post: operations["secret_share"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/orgs/{org_id}/secrets/{id}/shares": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the shares of a secret
         * @description Returns live links, and live grants that name this secret alone. Never the address of a link.
         *
         *     Accepts an API key, a session token, an agent credential or a browser session with the scope `secrets:share`.
         */
        get: operations["secret_share_list"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/orgs/{org_id}/secrets/{id}/shares/{share_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Revoke a share
         * @description Ends a link, or a grant that names this secret alone, as soon as this call returns.
         *
         *     Accepts an API key, a session token, an agent credential or a browser session with the scope `secrets:share`.
         */
        delete: operations["secret_share_revoke"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/s/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * View a shared secret
         * @description What the page of a link does once somebody asks for the value. The response counts as a view, even if it gets lost. For a link that was viewed, has expired, was revoked or never existed, the refusal is the same. The tenth wrong passphrase ends the link.
         *
         *     Needs no credential.
         */
        post: operations["secret_share_view"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/orgs/{org_id}/scans": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Scan a text or files for credentials
         * @description Finds well-known credential formats, tokens of this service, and exact current values (8 characters or more) of active secrets that the caller may read without approval. The text is not stored. A stored value that is found raises SECRET_LEAKED, once a day for each place. With revoke_live, live tokens of this organisation are revoked, each with an audit entry of its own.
         *
         *     Accepts an API key, a session token, an agent credential or a browser session with the scope `scans:write`.
         */
        post: operations["scan_create"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/orgs/{org_id}/panic": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Revoke all credentials (panic)
         * @description Revokes session tokens, agent credentials, provider tokens, break-glass tokens and browser sessions as soon as this call returns. API keys and trusts stay valid unless you send api_keys: true. Then it revokes them too, including the calling key, and the response holds a new API key, shown only once. In a browser session, only the JWT of this call stays valid: its refresh cookies and other JWTs are refused, and POST /auth/confirm gives new ones. The response lists what was created in the last seven days and may be an attacker's.
         *
         *     Accepts a browser session of an owner, or an API key that holds `*` without limits. A browser session must have been confirmed with a passkey in the last five minutes (`POST /auth/confirm`).
         */
        post: operations["org_panic"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/orgs/{org_id}/credentials/{id}/contain": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Contain a credential
         * @description Revokes a credential of any kind and all credentials that end with it, and reports what they read, wrote and created. Safe to repeat: the report stays the same. With rotate, the caller needs secrets:rotate for everything that the credential could reach.
         *
         *     Accepts an API key, a session token, an agent credential or a browser session with the scope `tokens:write`.
         */
        post: operations["credential_contain"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/orgs/{org_id}/credentials/{id}/graph": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show the graph of a credential
         * @description Returns its parent, the credentials that it created, and the environments and secrets that it can reach.
         *
         *     Accepts an API key, a session token, an agent credential or a browser session with the scope `tokens:read`.
         */
        get: operations["credential_graph"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/deployment/keys/rewrap": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Rewrap keys with the current master key
         * @description Call it after you have put a new master key first in MASTER_KEYS. Each call rewraps about 100 keys; reads and writes continue meanwhile. Repeat it with `next` as `cursor` until `next` is null, and start again while `done` is below `total`. If a master key is missing, the call fails with MISCONFIGURED, which names it, and the keys that it wraps stay unchanged.
         *
         *     Accepts the bootstrap token.
         */
        post: operations["deployment_rewrap"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/auth/enrol/options": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Get options to register a passkey with a link
         * @description Pass them to navigator.credentials.create(). The options work once and for five minutes.
         *
         *     Needs no credential.
         */
        post: operations["auth_enrol_options"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/auth/enrol": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Register a passkey with an enrolment link
         * @description Uses up the enrolment link and signs in. Existing passkeys of the member stay. Sets the refresh cookie.
         *
         *     Needs no credential.
         */
        post: operations["auth_enrol"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/auth/login/options": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Get options to sign in
         * @description Pass them to navigator.credentials.get(). They name no member, and work once and for five minutes.
         *
         *     Needs no credential.
         */
        post: operations["auth_login_options"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/auth/login": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Sign in with a passkey
         * @description Sets the refresh cookie. The response to a refused sign-in is the same for every reason.
         *
         *     Needs no credential.
         */
        post: operations["auth_login"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/auth/confirm/options": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Get options to confirm a browser session
         * @description Pass them to navigator.credentials.get(). They name the member's passkeys, and work once, in this browser session and for five minutes.
         *
         *     Accepts a browser session. No scope is needed.
         */
        post: operations["auth_confirm_options"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/auth/confirm": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Confirm a browser session with a passkey
         * @description The browser session counts as confirmed for five minutes, with the JWT in the response and those from later refreshes. Sets the refresh cookie. Earlier refresh cookies are no longer valid, and using one ends the session. The response to a refused confirmation is the same for every reason.
         *
         *     Accepts a browser session. No scope is needed.
         */
        post: operations["auth_confirm"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/auth/refresh": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Refresh a session
         * @description A page of this deployment sends no body: the call takes the refresh cookie and sets a new one. A terminal sends its refresh_token, without cookie or Origin, and gets a new one in the body. Both get a new JWT. Each cookie and refresh token works once. Using it again ends the session, except within ten seconds: then the response may have been lost, and the repeat gets one of its own.
         *
         *     Needs no credential.
         */
        post: operations["auth_refresh"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/auth/logout": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Sign out
         * @description Takes the refresh cookie, from a page of this deployment. Ends the browser session and its JWTs at once and clears the cookie. Safe to repeat.
         *
         *     Needs no credential.
         */
        post: operations["auth_logout"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/auth/sessions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List your sessions
         * @description Accepts a browser session. No scope is needed.
         */
        get: operations["auth_session_list"];
        put?: never;
        post?: never;
        /**
         * Revoke all your sessions
         * @description Accepts a browser session. No scope is needed.
         */
        delete: operations["auth_session_end"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/auth/sessions/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Revoke one of your sessions
         * @description Accepts a browser session. No scope is needed.
         */
        delete: operations["auth_session_end_one"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/auth/device": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Start a terminal login
         * @description Show user_code and verification_uri to the person, then poll POST /auth/device/token with device_code. At most 20 logins a minute can be started from one address.
         *
         *     Needs no credential.
         */
        post: operations["auth_device"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/auth/device/token": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Poll for the session of a terminal login
         * @description Answers AUTHORIZATION_PENDING until a member has decided. SLOW_DOWN adds five seconds to the interval between two polls. A device code gives one session; using it again later than ten seconds after the first time ends the session.
         *
         *     Needs no credential.
         */
        post: operations["auth_device_token"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/auth/device/lookup": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Look up who asks for a terminal login
         * @description For the page /device, in a browser session. At most 20 attempts a minute by member and by address, confirmations included.
         *
         *     Accepts a browser session. No scope is needed.
         */
        post: operations["auth_device_lookup"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/auth/device/confirm": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Confirm a terminal login
         * @description Signs the terminal in as the calling member. Needs a browser session that was confirmed with a passkey in the last five minutes (`POST /auth/confirm`). Safe to repeat.
         *
         *     Accepts a browser session. No scope is needed. A browser session must have been confirmed with a passkey in the last five minutes (`POST /auth/confirm`).
         */
        post: operations["auth_device_confirm"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/auth/device/deny": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Deny a terminal login
         * @description Accepts a browser session. No scope is needed.
         */
        post: operations["auth_device_deny"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/orgs/{org_id}/trusts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List trusts
         * @description Accepts an API key, a session token, an agent credential or a browser session with the scope `tokens:read`.
         */
        get: operations["trust_list"];
        put?: never;
        /**
         * Create a trust
         * @description A trust accepts tokens of an OIDC issuer whose claims match, and gives session tokens for them (POST /auth/exchange). It cannot hold more than its creator. A trust that a session token or an agent creates ends with its creator.
         *
         *     Accepts an API key, a session token, an agent credential or a browser session with the scope `tokens:write`.
         */
        post: operations["trust_create"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/orgs/{org_id}/trusts/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show a trust
         * @description Accepts an API key, a session token, an agent credential or a browser session with the scope `tokens:read`.
         */
        get: operations["trust_read"];
        put?: never;
        post?: never;
        /**
         * Delete a trust
         * @description Its session tokens are refused as soon as this call returns.
         *
         *     Accepts an API key, a session token, an agent credential or a browser session with the scope `tokens:write`.
         */
        delete: operations["trust_delete"];
        options?: never;
        head?: never;
        /**
         * Change a trust
         * @description The change applies to the next request of each session token: one whose workload is no longer accepted ends, and none holds more than the trust. The caller must hold whatever the change adds, and all that the trust gives if it accepts other tokens afterwards. To narrow it, tokens:write is enough.
         *
         *     Accepts an API key, a session token, an agent credential or a browser session with the scope `tokens:write`.
         */
        patch: operations["trust_update"];
        trace?: never;
    };
    "/auth/exchange": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Exchange an OIDC token for a session token
         * @description A CI job or workload sends the OIDC token of its platform and gets a session token of the trust. RS256, PS256, ES256 and EdDSA are accepted. A token must be at most an hour old, and serves ten times at most. The response to a refused exchange is the same for every reason. The audit log of the organisation has the reason.
         *
         *     Needs no credential.
         */
        post: operations["auth_exchange"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        Founded: {
            org: components["schemas"]["Org"];
            owner: components["schemas"]["NewMember"];
            api_key: components["schemas"]["NewApiKey"];
        };
        Org: {
            /** @example org_01M9xQeKcX3vTz6nWJfQ4b */
            id: string;
            name: string;
            /** @example production */
            default_environment: string;
            /**
             * @description IP addresses and ranges from which members may sign in and use browser sessions. null allows any address. Credentials that members create are not limited by it.
             * @example [
             *       "203.0.113.0/24"
             *     ]
             */
            allowed_addresses: string[] | null;
            /**
             * @description For how many days audit log entries are kept. After that they are deleted once their export is confirmed. null: 400 days, and they are deleted without an export.
             * @example 365
             */
            audit_retention_days: number | null;
            /**
             * Format: date-time
             * @example 2026-11-21T12:00:00.000Z
             */
            created_at: string;
            /**
             * Format: date-time
             * @example 2026-11-21T12:00:00.000Z
             */
            updated_at: string;
        };
        NewMember: components["schemas"]["Member"] & {
            /**
             * @description The link where the member registers a passkey. Shown only once. It works once and for 24 hours.
             * @example https://vault.example.com/enrol#svcenrol_…
             */
            enrolment_url: string | null;
        };
        Member: {
            /** @example mem_01M9xQeKcX3vTz6nWJfQ4b */
            id: string;
            email: string;
            name: string;
            /**
             * @example developer
             * @enum {string}
             */
            role: "owner" | "admin" | "developer" | "viewer" | "auditor";
            /**
             * @description invited: the enrolment link is still valid. lapsed: it expired before it was used. active: the member has enrolled.
             * @enum {string}
             */
            status: "invited" | "active" | "lapsed";
            /**
             * @description How many passkeys the member has.
             * @example 1
             */
            passkeys: number;
            invited_by: string | null;
            /**
             * Format: date-time
             * @example 2026-11-21T12:00:00.000Z
             */
            created_at: string;
            /**
             * Format: date-time
             * @example 2026-11-21T12:00:00.000Z
             */
            enrolled_at: string | null;
            /** @description The enrolment link that is still valid or has expired. null if the member has enrolled with it. */
            enrolment: {
                /**
                 * Format: date-time
                 * @example 2026-11-21T12:00:00.000Z
                 */
                created_at: string;
                /**
                 * Format: date-time
                 * @example 2026-11-21T12:00:00.000Z
                 */
                expires_at: string;
            } | null;
        };
        NewApiKey: components["schemas"]["ApiKey"] & {
            /**
             * @description Shown only once.
             * @example svc_live_…
             */
            token: string | null;
        };
        ApiKey: {
            /** @example key_01M9xQeKcX3vTz6nWJfQ4b */
            id: string;
            name: string;
            /**
             * @description Prefix and last four characters of the token.
             * @example svc_live_…x7Qd
             */
            hint: string;
            scopes: string[];
            /** @description Slugs of its environments. null means all. */
            environments: string[] | null;
            /** @description Patterns of the secret names that it can access. null means all. */
            secrets: string[] | null;
            /** @description IP addresses and ranges. null means any address. */
            allowed_addresses: string[] | null;
            /** @description Requests per minute. */
            rate_limit: number;
            /** @description Id of the credential or member that created it. */
            created_by: string;
            /** @description The credential that this one ends with. null if it does not end with another. */
            parent_id: string | null;
            /**
             * @description The device that it is bound to.
             * @example dev_01M9xQeKcX3vTz6nWJfQ4b
             */
            device_id: string | null;
            /** @description Id of the API key that replaced it in a rotation. */
            successor_id: string | null;
            /**
             * Format: date-time
             * @example 2026-11-21T12:00:00.000Z
             */
            created_at: string;
            /**
             * Format: date-time
             * @example 2026-11-21T12:00:00.000Z
             */
            expires_at: string | null;
            /**
             * Format: date-time
             * @example 2026-11-21T12:00:00.000Z
             */
            revoked_at: string | null;
            /**
             * Format: date-time
             * @example 2026-11-21T12:00:00.000Z
             */
            last_used_at: string | null;
            /**
             * @description Number of requests made with it.
             * @example 12
             */
            use_count: number;
            /**
             * @description Where the last request came from, as reported by Cloudflare.
             * @example Zurich, CH (ZRH)
             */
            last_used_place: string | null;
        };
        OrgIn: {
            /** @example Acme */
            name: string;
            owner: {
                /**
                 * Format: email
                 * @example ann@example.com
                 */
                email: string;
                /** @example Ann */
                name: string;
            };
            /**
             * @description Where the organisation's Durable Object is placed. Choose the region of most of your readers.
             * @enum {string}
             */
            location_hint?: "wnam" | "enam" | "sam" | "weur" | "eeur" | "apac" | "oc" | "afr" | "me";
        };
        OrgPage: {
            data: components["schemas"]["ListedOrg"][];
            /** @description Pass it as cursor to get the next page. null on the last page. */
            next_cursor: string | null;
            has_more: boolean;
        };
        ListedOrg: {
            id: string;
            name: string;
            /**
             * Format: date-time
             * @example 2026-11-21T12:00:00.000Z
             */
            created_at: string;
        };
        Recovered: {
            api_key: components["schemas"]["NewApiKey"];
            /**
             * @description The link where the member registers a passkey. Shown only once. It works once and for 24 hours.
             * @example https://vault.example.com/enrol#svcenrol_…
             */
            enrolment_url: string | null;
        };
        Recovery: {
            /** @example the only key was lost with a laptop */
            reason: string;
            /**
             * Format: email
             * @description Email address of the owner who enrols again. The oldest owner by default.
             * @example ann@example.com
             */
            email?: string;
        };
        Adopted: {
            /** @description Secrets whose state was restored from the backup. */
            restored: number;
            /** @description Secrets in the backup that stay deleted, since they were deleted after it was made. */
            ended: number;
            /** @description Secrets that were created after the backup and are lost. */
            lost: number;
            /** @description Rows that this organisation never wrote. They were removed. */
            refused: number;
            /** @description Audit log entries that the backup does not contain. */
            audit_entries_lost: number;
        };
        Adoption: {
            /** @example the only key was lost with a laptop */
            reason: string;
        };
        OrgWithUsage: components["schemas"]["Org"] & {
            /**
             * @description How much of its limits the organisation uses.
             * @example {
             *       "secrets": 42,
             *       "sealed_bytes": 18211,
             *       "credentials": 7,
             *       "members": 12
             *     }
             */
            usage: {
                /** @description Number of secrets, at most 100,000. Deleted secrets count until they are purged. */
                secrets: number;
                /** @description Encrypted size of all versions of all secrets in bytes, at most 4 GiB. */
                sealed_bytes: number;
                /** @description Number of live credentials, at most 10,000. Session tokens and browser sessions do not count. An expired credential may count for up to five more seconds. */
                credentials: number;
                /** @description Number of members, at most 2,000. */
                members: number;
            };
        };
        OrgPatch: {
            name?: string;
            /** @example production */
            default_environment?: string;
            /**
             * @description IP addresses and ranges from which members may sign in and use browser sessions. null allows any address. Credentials that members create are not limited by it.
             * @example [
             *       "203.0.113.0/24"
             *     ]
             */
            allowed_addresses?: string[] | null;
            /**
             * @description For how many days audit log entries are kept. After that they are deleted once their export is confirmed. null: 400 days, and they are deleted without an export.
             * @example 365
             */
            audit_retention_days?: number | null;
        };
        OrgDelete: {
            /**
             * @description The name of the organisation, to confirm the deletion.
             * @example Acme
             */
            confirm: string;
        };
        EnvironmentPage: {
            data: components["schemas"]["Environment"][];
            /** @description Pass it as cursor to get the next page. null on the last page. */
            next_cursor: string | null;
            has_more: boolean;
        };
        Environment: {
            id: string;
            name: string;
            slug: string;
        };
        EnvironmentIn: {
            /** @example QA */
            name: string;
            /**
             * @description Derived from the name by default.
             * @example qa
             */
            slug?: string;
        };
        EnvironmentPatch: {
            name: string;
        };
        Roles: {
            data: {
                /**
                 * @example developer
                 * @enum {string}
                 */
                role: "owner" | "admin" | "developer" | "viewer" | "auditor";
                scopes: string[];
            }[];
        };
        MemberIn: {
            /**
             * Format: email
             * @example ann@example.com
             */
            email: string;
            /** @example Ann */
            name: string;
            /**
             * @example developer
             * @enum {string}
             */
            role: "owner" | "admin" | "developer" | "viewer" | "auditor";
        };
        MemberPage: {
            data: components["schemas"]["Member"][];
            /** @description Pass it as cursor to get the next page. null on the last page. */
            next_cursor: string | null;
            has_more: boolean;
        };
        MemberPatch: {
            /**
             * Format: email
             * @example ann@example.com
             */
            email?: string;
            name?: string;
            /**
             * @example developer
             * @enum {string}
             */
            role?: "owner" | "admin" | "developer" | "viewer" | "auditor";
        };
        Removed: {
            /** @description Live credentials that the member created, without session tokens. They stay valid unless revoke_credentials=true revoked them. */
            credentials: {
                kind: string;
                id: string;
                name: string | null;
            }[];
            /** @description How many more credentials there are that this call neither listed nor revoked: one call covers about 1,000. Repeat it with revoke_credentials=true. */
            remaining?: number;
        };
        Access: {
            allowed: boolean;
            reasons: {
                /** @enum {string} */
                source: "role" | "grant";
                /**
                 * @example developer
                 * @enum {string}
                 */
                role?: "owner" | "admin" | "developer" | "viewer" | "auditor";
                grant_id?: string;
                grantee?: {
                    /** @enum {string} */
                    type: "member" | "team";
                    id: string;
                };
            }[];
        };
        PasskeyPage: {
            data: components["schemas"]["Passkey"][];
            /** @description Pass it as cursor to get the next page. null on the last page. */
            next_cursor: string | null;
            has_more: boolean;
        };
        Passkey: {
            /** @example psk_01M9xQeKcX3vTz6nWJfQ4b */
            id: string;
            /** @example Passkey on this device */
            name: string;
            /**
             * @example [
             *       "internal"
             *     ]
             */
            transports: string[];
            /** @description Whether a passkey provider keeps a copy, so that other devices may have it too. */
            backed_up: boolean;
            /**
             * Format: date-time
             * @example 2026-11-21T12:00:00.000Z
             */
            created_at: string;
        };
        CreationOptions: {
            challenge: string;
            rp: {
                /** @example vault.example.com */
                id: string;
                name: string;
            };
            user: {
                id: string;
                name: string;
                displayName: string;
            };
            pubKeyCredParams: {
                /** @example public-key */
                type: string;
                /** @example -7 */
                alg: number;
            }[];
            timeout: number;
            /** @example none */
            attestation: string;
            excludeCredentials: {
                id: string;
                type: string;
                transports?: string[];
            }[];
            authenticatorSelection: {
                residentKey: string;
                requireResidentKey: boolean;
                userVerification: string;
            };
            /**
             * @example {
             *       "credProps": true
             *     }
             */
            extensions: {
                [key: string]: unknown;
            };
            hints: string[];
        };
        PasskeyIn: {
            response: components["schemas"]["PasskeyCreation"];
            /** @example Laptop */
            name?: string;
        };
        /** @description The result of navigator.credentials.create(), as its toJSON() returns it. */
        PasskeyCreation: {
            /** @example AAAA */
            id: string;
            /** @example AAAA */
            rawId: string;
            /** @enum {string} */
            type: "public-key";
            authenticatorAttachment?: string | null;
            response: {
                /** @example AAAA */
                clientDataJSON: string;
                /** @example AAAA */
                attestationObject: string;
                /**
                 * @example [
                 *       "internal"
                 *     ]
                 */
                transports?: string[];
            };
        };
        PasskeyPatch: {
            /** @example Laptop */
            name: string;
        };
        Team: {
            /** @example team_01M9xQeKcX3vTz6nWJfQ4b */
            id: string;
            name: string;
            /**
             * Format: date-time
             * @example 2026-11-21T12:00:00.000Z
             */
            created_at: string;
        };
        TeamIn: {
            /** @example Payments */
            name: string;
        };
        TeamPage: {
            data: components["schemas"]["Team"][];
            /** @description Pass it as cursor to get the next page. null on the last page. */
            next_cursor: string | null;
            has_more: boolean;
        };
        TeamMember: {
            /** @example team_01M9xQeKcX3vTz6nWJfQ4b */
            team_id: string;
            /** @example mem_01M9xQeKcX3vTz6nWJfQ4b */
            member_id: string;
            /** @description The member's name. */
            name: string;
            added_by: string;
            /**
             * Format: date-time
             * @example 2026-11-21T12:00:00.000Z
             */
            created_at: string;
        };
        TeamMemberIn: {
            /** @example mem_01M9xQeKcX3vTz6nWJfQ4b */
            member_id: string;
        };
        TeamMemberPage: {
            data: components["schemas"]["TeamMember"][];
            /** @description Pass it as cursor to get the next page. null on the last page. */
            next_cursor: string | null;
            has_more: boolean;
        };
        Grant: {
            /** @example grt_01M9xQeKcX3vTz6nWJfQ4b */
            id: string;
            grantee: {
                /**
                 * @description An agent is given grants by POST /orgs/:org_id/secrets/:id/share alone.
                 * @enum {string}
                 */
                type: "member" | "team" | "agent";
                /** @example mem_01M9xQeKcX3vTz6nWJfQ4b */
                id: string;
            };
            /**
             * @description read grants secrets:list and secrets:read. write also grants secrets:write and secrets:rotate.
             * @enum {string}
             */
            permission: "read" | "write";
            environments: string[] | null;
            secrets: string[] | null;
            created_by: string;
            /** @description The credential that this grant ends with. null if it does not end with one. */
            parent_id: string | null;
            /**
             * Format: date-time
             * @example 2026-11-21T12:00:00.000Z
             */
            created_at: string;
            /**
             * Format: date-time
             * @example 2026-11-21T12:00:00.000Z
             */
            expires_at: string | null;
        };
        GrantIn: {
            grantee: {
                /** @enum {string} */
                type: "member" | "team";
                /** @example mem_01M9xQeKcX3vTz6nWJfQ4b */
                id: string;
            };
            /**
             * @description read grants secrets:list and secrets:read. write also grants secrets:write and secrets:rotate.
             * @enum {string}
             */
            permission: "read" | "write";
            /** @description Environments by id or slug. By default, those of its creator. */
            environments?: string[];
            /**
             * @description Secret names as glob patterns (* and ?). By default, those of its creator.
             * @example [
             *       "app/*"
             *     ]
             */
            secrets?: string[];
            /**
             * Format: date-time
             * @example 2027-11-21T12:00:00.000Z
             */
            expires_at?: string;
        };
        GrantPage: {
            data: components["schemas"]["Grant"][];
            /** @description Pass it as cursor to get the next page. null on the last page. */
            next_cursor: string | null;
            has_more: boolean;
        };
        WhoAmI: {
            /** @example api_key */
            kind: string;
            id: string;
            org_id: string;
            name: string | null;
            scopes: string[];
            /**
             * @description The scopes that grants add to the role of a member, each for some secrets only.
             * @example []
             */
            granted_scopes: string[];
            environments: string[] | null;
            secrets: string[] | null;
            /**
             * Format: date-time
             * @example 2026-11-21T12:00:00.000Z
             */
            expires_at: string | null;
            parent_id: string | null;
            rate_limit: number;
            /**
             * @description The device that it is bound to.
             * @example dev_01M9xQeKcX3vTz6nWJfQ4b
             */
            device_id: string | null;
        };
        ApiKeyIn: {
            /** @example deploy */
            name: string;
            /**
             * @example [
             *       "secrets:read"
             *     ]
             */
            scopes: string[];
            /**
             * Format: date-time
             * @example 2027-11-21T12:00:00.000Z
             */
            expires_at?: string;
            /**
             * @description A lifetime from now on, in place of expires_at.
             * @example 7776000
             */
            ttlSeconds?: number;
            /** @description Environments by id or slug. By default, those of its creator. */
            environments?: string[];
            /**
             * @description Secret names as glob patterns (* and ?). By default, those of its creator.
             * @example [
             *       "app/*"
             *     ]
             */
            secrets?: string[];
            /**
             * @example [
             *       "203.0.113.0/24"
             *     ]
             */
            allowed_addresses?: string[];
        };
        ApiKeyPage: {
            data: components["schemas"]["ApiKey"][];
            /** @description Pass it as cursor to get the next page. null on the last page. */
            next_cursor: string | null;
            has_more: boolean;
        };
        ApiKeyPatch: {
            name?: string;
            /**
             * @example [
             *       "203.0.113.0/24"
             *     ]
             */
            allowed_addresses?: string[] | null;
        };
        ApiKeyRotate: {
            /** @description How long the old key stays valid, in seconds. 0 by default. */
            overlap_seconds?: number;
        };
        NewAccessToken: components["schemas"]["AccessToken"] & {
            /**
             * @description Shown only once.
             * @example svcsess_…
             */
            token: string | null;
        };
        AccessToken: {
            /** @example tok_01M9xQeKcX3vTz6nWJfQ4b */
            id: string;
            hint: string;
            scopes: string[];
            allowedAddresses: string[] | null;
            /** @description Id of the API key that it ends with. */
            parentId: string;
            /**
             * @description The device that it is bound to.
             * @example dev_01M9xQeKcX3vTz6nWJfQ4b
             */
            device_id: string | null;
            /**
             * Format: date-time
             * @example 2026-11-21T12:00:00.000Z
             */
            createdAt: string;
            /**
             * Format: date-time
             * @example 2026-11-21T12:00:00.000Z
             */
            expiresAt: string;
            /**
             * Format: date-time
             * @example 2026-11-21T12:00:00.000Z
             */
            lastUsedAt: string | null;
            useCount: number;
            lastUsedPlace: string | null;
        };
        AccessTokenIn: {
            /**
             * @description Lifetime in seconds, at most a day.
             * @example 900
             */
            ttlSeconds: number;
            /**
             * @description A subset of the scopes of its API key. All of them by default.
             * @example [
             *       "secrets:read"
             *     ]
             */
            scopes?: string[];
            /** @description Environments by id or slug. By default, those of its API key. */
            environments?: string[];
            /**
             * @description Secret names as glob patterns (* and ?). By default, those of its API key.
             * @example [
             *       "app/*"
             *     ]
             */
            secrets?: string[];
            /**
             * @example [
             *       "203.0.113.0/24"
             *     ]
             */
            allowedAddresses?: string[];
            /**
             * @description A device with a public key. Each request with the credential then needs a DPoP proof (RFC 9449) signed by its key. Credentials that it creates are bound to the same device.
             * @example dev_01M9xQeKcX3vTz6nWJfQ4b
             */
            device_id?: string;
        };
        AccessTokenPage: {
            data: components["schemas"]["AccessToken"][];
            /** @description Pass it as cursor to get the next page. null on the last page. */
            next_cursor: string | null;
            has_more: boolean;
        };
        NewAgent: components["schemas"]["Agent"] & {
            /**
             * @description Shown only once.
             * @example svcag_…
             */
            token: string | null;
        };
        Agent: {
            /** @example agt_01M9xQeKcX3vTz6nWJfQ4b */
            id: string;
            name: string;
            /** @example svcag_…x7Qd */
            hint: string;
            scopes: string[];
            /** @description Slugs of its environments. null means all. */
            environments: string[] | null;
            /** @description Patterns of the secret names that it can access. null means all. */
            secrets: string[] | null;
            /** @description IP addresses and ranges. null means any address. */
            allowed_addresses: string[] | null;
            /** @description Requests per minute. */
            rate_limit: number;
            /** @description Id of the credential or member that created it. */
            created_by: string;
            /** @description The credential that this one ends with. null if it does not end with another. */
            parent_id: string | null;
            /**
             * @description The device that it is bound to.
             * @example dev_01M9xQeKcX3vTz6nWJfQ4b
             */
            device_id: string | null;
            /**
             * Format: date-time
             * @example 2026-11-21T12:00:00.000Z
             */
            created_at: string;
            /**
             * Format: date-time
             * @example 2026-11-21T12:00:00.000Z
             */
            expires_at: string | null;
            /**
             * Format: date-time
             * @example 2026-11-21T12:00:00.000Z
             */
            revoked_at: string | null;
            /**
             * Format: date-time
             * @example 2026-11-21T12:00:00.000Z
             */
            last_used_at: string | null;
            /**
             * @description Number of requests made with it.
             * @example 12
             */
            use_count: number;
            /**
             * @description Where the last request came from, as reported by Cloudflare.
             * @example Zurich, CH (ZRH)
             */
            last_used_place: string | null;
        };
        AgentIn: {
            /** @example triage agent */
            name: string;
            /**
             * @example [
             *       "secrets:read"
             *     ]
             */
            scopes: string[];
            /** @description Environments by id or slug. By default, those of its creator. */
            environments?: string[];
            /**
             * @description Secret names as glob patterns (* and ?). By default, those of its creator.
             * @example [
             *       "app/*"
             *     ]
             */
            secrets?: string[];
            /**
             * @description Lifetime in seconds. By default 30 days, or what is left of its creator.
             * @example 86400
             */
            ttlSeconds?: number;
            /**
             * Format: date-time
             * @example 2027-11-21T12:00:00.000Z
             */
            expires_at?: string;
            /**
             * @description Rate limit in requests per minute, 120 by default.
             * @example 120
             */
            rate_limit?: number;
            /**
             * @example [
             *       "203.0.113.0/24"
             *     ]
             */
            allowed_addresses?: string[];
            /**
             * @description A device with a public key. Each request with the credential then needs a DPoP proof (RFC 9449) signed by its key. Credentials that it creates are bound to the same device.
             * @example dev_01M9xQeKcX3vTz6nWJfQ4b
             */
            device_id?: string;
        };
        AgentPage: {
            data: components["schemas"]["Agent"][];
            /** @description Pass it as cursor to get the next page. null on the last page. */
            next_cursor: string | null;
            has_more: boolean;
        };
        AgentPatch: {
            name?: string;
            /**
             * @example [
             *       "secrets:read"
             *     ]
             */
            scopes?: string[];
            environments?: string[] | null;
            /**
             * @example [
             *       "app/*"
             *     ]
             */
            secrets?: string[] | null;
            /**
             * @description A new lifetime in seconds, counted from now. null removes the lifetime.
             * @example 86400
             */
            ttlSeconds?: number | null;
            /**
             * @description Rate limit in requests per minute, 120 by default.
             * @example 120
             */
            rate_limit?: number;
            /**
             * @example [
             *       "203.0.113.0/24"
             *     ]
             */
            allowed_addresses?: string[] | null;
        };
        NewProviderToken: components["schemas"]["ProviderToken"] & {
            /**
             * @description Shown only once.
             * @example svcprov_…
             */
            token: string | null;
        };
        ProviderToken: {
            /** @example prv_01M9xQeKcX3vTz6nWJfQ4b */
            id: string;
            name: string;
            /** @example svcprov_…x7Qd */
            hint: string;
            scopes: string[];
            /** @description Slugs of its environments. null means all. */
            environments: string[] | null;
            /** @description Patterns of the secret names that it can access. null means all. */
            secrets: string[] | null;
            /** @description IP addresses and ranges. null means any address. */
            allowed_addresses: string[] | null;
            /** @description Requests per minute. */
            rate_limit: number;
            /** @description Id of the credential or member that created it. */
            created_by: string;
            /** @description The credential that this one ends with. null if it does not end with another. */
            parent_id: string | null;
            /**
             * @description The device that it is bound to.
             * @example dev_01M9xQeKcX3vTz6nWJfQ4b
             */
            device_id: string | null;
            /**
             * Format: date-time
             * @example 2026-11-21T12:00:00.000Z
             */
            created_at: string;
            /**
             * Format: date-time
             * @example 2026-11-21T12:00:00.000Z
             */
            revoked_at: string | null;
            /**
             * Format: date-time
             * @example 2026-11-21T12:00:00.000Z
             */
            last_used_at: string | null;
            /**
             * @description Number of requests made with it.
             * @example 12
             */
            use_count: number;
            /**
             * @description Where the last request came from, as reported by Cloudflare.
             * @example Zurich, CH (ZRH)
             */
            last_used_place: string | null;
        };
        ProviderTokenIn: {
            /** @example database provisioner */
            name: string;
            /**
             * @example [
             *       "issue",
             *       "rotate",
             *       "revoke"
             *     ]
             */
            scopes: ("issue" | "rotate" | "revoke")[];
            environments?: string[];
            /**
             * @example [
             *       "app/*"
             *     ]
             */
            secrets?: string[];
            /**
             * @example [
             *       "203.0.113.0/24"
             *     ]
             */
            allowed_addresses?: string[];
        };
        ProviderTokenPage: {
            data: components["schemas"]["ProviderToken"][];
            /** @description Pass it as cursor to get the next page. null on the last page. */
            next_cursor: string | null;
            has_more: boolean;
        };
        NewBreakGlass: components["schemas"]["BreakGlass"] & {
            /**
             * @description Shown only once.
             * @example svcbg_…
             */
            token: string | null;
        };
        BreakGlass: {
            /** @example bgt_01M9xQeKcX3vTz6nWJfQ4b */
            id: string;
            reason: string;
            hint: string;
            scopes: string[];
            allowed_addresses: string[] | null;
            rate_limit: number;
            created_by: string;
            parent_id: string | null;
            /**
             * @description The device that it is bound to.
             * @example dev_01M9xQeKcX3vTz6nWJfQ4b
             */
            device_id: string | null;
            /**
             * Format: date-time
             * @example 2026-11-21T12:00:00.000Z
             */
            created_at: string;
            /**
             * Format: date-time
             * @example 2026-11-21T12:00:00.000Z
             */
            expires_at: string;
            /**
             * Format: date-time
             * @example 2026-11-21T12:00:00.000Z
             */
            revoked_at: string | null;
            /**
             * Format: date-time
             * @example 2026-11-21T12:00:00.000Z
             */
            last_used_at: string | null;
            /**
             * @description Number of requests made with it.
             * @example 12
             */
            use_count: number;
            /**
             * @description Where the last request came from, as reported by Cloudflare.
             * @example Zurich, CH (ZRH)
             */
            last_used_place: string | null;
        };
        BreakGlassIn: {
            /** @example the primary database is down */
            reason: string;
            /** @description Lifetime in seconds, 3600 by default, at most 14400. */
            ttlSeconds?: number;
        };
        BreakGlassPage: {
            data: components["schemas"]["BreakGlass"][];
            /** @description Pass it as cursor to get the next page. null on the last page. */
            next_cursor: string | null;
            has_more: boolean;
        };
        SecretWithValue: components["schemas"]["Secret"] & {
            /** @example postgres://app:correct-horse@db.example.com/app */
            value: string;
        };
        Secret: {
            /** @example sec_01M9xQeKcX3vTz6nWJfQ4b */
            id: string;
            /** @example DATABASE_URL */
            name: string;
            /** @enum {string} */
            type: "api_key" | "password" | "database_url" | "certificate" | "private_key" | "ssh_key" | "oauth_token" | "webhook_secret" | "env_var" | "json" | "generic";
            /** @example production */
            environment: string;
            /** @enum {string} */
            status: "active" | "expired" | "revoked" | "deleted";
            /** @example 1 */
            version: number;
            description: string | null;
            tags: {
                [key: string]: string;
            };
            rotate_every_seconds: number | null;
            /**
             * @description Whether a rotation policy may replace a generated value.
             * @example false
             */
            auto_rotate: boolean;
            /**
             * @description Whether this service generated the current value.
             * @example false
             */
            generated: boolean;
            /**
             * Format: date-time
             * @example 2026-11-21T12:00:00.000Z
             */
            created_at: string;
            /**
             * Format: date-time
             * @example 2026-11-21T12:00:00.000Z
             */
            updated_at: string;
            /**
             * Format: date-time
             * @example 2026-11-21T12:00:00.000Z
             */
            expires_at: string | null;
            /**
             * Format: date-time
             * @description Present on deleted secrets. They can be restored for seven days after this time.
             * @example 2026-11-21T12:00:00.000Z
             */
            deleted_at?: string | null;
        };
        SecretPut: {
            /** @example postgres://app:correct-horse@db.example.com/app */
            value: string;
            /**
             * @description `generic` where a new secret gives none.
             * @enum {string}
             */
            type?: "api_key" | "password" | "database_url" | "certificate" | "private_key" | "ssh_key" | "oauth_token" | "webhook_secret" | "env_var" | "json" | "generic";
            description?: string | null;
            /**
             * @example {
             *       "team": "core"
             *     }
             */
            tags?: {
                [key: string]: string;
            };
            /** @description A new lifetime from now on; null for none. */
            ttlSeconds?: number | null;
            rotate_every_seconds?: number | null;
            /**
             * @description Whether a rotation policy with auto_rotate may replace a generated value. false by default.
             * @example false
             */
            auto_rotate?: boolean;
        };
        NewSecret: components["schemas"]["Secret"] & {
            /** @description The generated value. Present only if the value was generated. */
            value?: string | null;
            /** @description The public key. Present only if a key pair was generated. */
            public_key?: string | null;
        };
        /**
         * @example {
         *       "name": "DATABASE_URL",
         *       "type": "database_url",
         *       "value": "postgres://app:correct-horse@db.example.com/app"
         *     }
         */
        SecretIn: {
            /** @example DATABASE_URL */
            name: string;
            /** @enum {string} */
            type: "api_key" | "password" | "database_url" | "certificate" | "private_key" | "ssh_key" | "oauth_token" | "webhook_secret" | "env_var" | "json" | "generic";
            /**
             * @description The value, up to 64 KiB in UTF-8. Required unless generate is sent.
             * @example postgres://app:correct-horse@db.example.com/app
             */
            value?: string;
            /** @description Generates the value instead, for the types password, ssh_key, private_key and webhook_secret. The response holds the generated value once. */
            generate?: {
                length?: number;
                /** @description The name of a character set (alphanumeric, letters, digits, hex, base64url, ascii, …) or the characters themselves. */
                charset?: string;
            };
            /**
             * @description Id or slug. The default environment by default.
             * @example production
             */
            environment?: string;
            description?: string | null;
            /**
             * @example {
             *       "team": "core"
             *     }
             */
            tags?: {
                [key: string]: string;
            };
            /** @description How long the value can be read, in seconds. Unlimited by default. */
            ttlSeconds?: number;
            /** @description How often the secret should be rotated, in seconds. */
            rotate_every_seconds?: number | null;
            /**
             * @description Whether a rotation policy with auto_rotate may replace a generated value. false by default.
             * @example false
             */
            auto_rotate?: boolean;
        };
        SecretPage: {
            data: components["schemas"]["Secret"][];
            /** @description Pass it as cursor to get the next page. null on the last page. */
            next_cursor: string | null;
            has_more: boolean;
            /** @description Present with delimiter: the folders of this page, each with its whole path and the / at its end. */
            folders?: string[];
        };
        SecretPatch: {
            /** @example DATABASE_URL */
            name?: string;
            /** @example postgres://app:correct-horse@db.example.com/app */
            value?: string;
            /** @enum {string} */
            type?: "api_key" | "password" | "database_url" | "certificate" | "private_key" | "ssh_key" | "oauth_token" | "webhook_secret" | "env_var" | "json" | "generic";
            description?: string | null;
            /**
             * @example {
             *       "team": "core"
             *     }
             */
            tags?: {
                [key: string]: string;
            };
            /** @description A new lifetime in seconds, counted from now. null removes the lifetime. */
            ttlSeconds?: number | null;
            rotate_every_seconds?: number | null;
            /**
             * @description Whether a rotation policy with auto_rotate may replace a generated value. false by default.
             * @example false
             */
            auto_rotate?: boolean;
        };
        RotatedSecret: components["schemas"]["Secret"] & {
            /** @description The generated value. Present only if the value was generated. */
            value?: string | null;
            /** @description The public key. Present only if a key pair was generated. */
            public_key?: string | null;
        };
        Rotate: {
            /** @example postgres://app:correct-horse@db.example.com/app */
            value?: string;
            generate?: {
                length?: number;
                /** @description The name of a character set (alphanumeric, letters, digits, hex, base64url, ascii, …) or the characters themselves. */
                charset?: string;
            };
        };
        VersionPage: {
            data: components["schemas"]["Version"][];
            /** @description Pass it as cursor to get the next page. null on the last page. */
            next_cursor: string | null;
            has_more: boolean;
        };
        Version: {
            version: number;
            /**
             * Format: date-time
             * @example 2026-11-21T12:00:00.000Z
             */
            created_at: string;
            created_by: string;
            current: boolean;
        };
        Rollback: {
            /** @description The version whose value becomes current again. */
            version: number;
        };
        /**
         * @example {
         *       "environment": "production",
         *       "values": {
         *         "DATABASE_URL": "postgres://…"
         *       },
         *       "versions": {
         *         "DATABASE_URL": 1
         *       },
         *       "withheld": []
         *     }
         */
        Values: {
            environment: string;
            values: {
                [key: string]: string;
            };
            versions: {
                [key: string]: number;
            };
            /** @description Names that an approval policy holds back. Read each by itself to ask for approval. */
            withheld: string[];
        };
        ProviderIssued: {
            /** @example sec_01M9xQeKcX3vTz6nWJfQ4b */
            secretId: string;
            /** @example db/app/password */
            secretName: string;
            /** @example production */
            environment: string;
            /** @example 1 */
            version: number;
            /**
             * Format: date-time
             * @description null if the secret has no lifetime, since it was not created by this call.
             * @example 2026-11-21T12:00:00.000Z
             */
            expiresAt: string | null;
        };
        ProviderIssue: {
            /** @example db/app/password */
            secretName: string;
            /** @example production */
            environment: string;
            /** @example correct-horse-battery */
            value: string;
            /**
             * @description How long the value can be read, in seconds. Each rotation starts the lifetime again.
             * @example 86400
             */
            ttlSeconds: number;
        };
        ProviderRotate: {
            /** @example db/app/password */
            secretName: string;
            /** @example production */
            environment: string;
            /** @example correct-horse-battery */
            newValue: string;
        };
        ProviderRevoked: {
            /** @example sec_01M9xQeKcX3vTz6nWJfQ4b */
            secretId: string;
            /** @example db/app/password */
            secretName: string;
            /** @example production */
            environment: string;
            /** @enum {string} */
            status: "revoked";
            /**
             * Format: date-time
             * @example 2026-11-21T12:00:00.000Z
             */
            revokedAt: string;
        };
        ProviderRevoke: {
            /** @example db/app/password */
            secretName: string;
            /** @example production */
            environment: string;
        };
        Policy: {
            /** @example pol_01M9xQeKcX3vTz6nWJfQ4b */
            id: string;
            name: string;
            /** @enum {string} */
            kind: "naming" | "rotation" | "approval";
            enabled: boolean;
            /**
             * @description null where unbounded.
             * @example {
             *       "environments": [
             *         "production"
             *       ],
             *       "types": null,
             *       "names": null
             *     }
             */
            applies_to: {
                environments: string[] | null;
                types: ("api_key" | "password" | "database_url" | "certificate" | "private_key" | "ssh_key" | "oauth_token" | "webhook_secret" | "env_var" | "json" | "generic")[] | null;
                names: string[] | null;
            };
            /**
             * @example {
             *       "pattern": "^[A-Z][A-Z0-9_]*$"
             *     }
             */
            config: components["schemas"]["PolicyConfig"];
            /** @description Of a rotation policy with cron: the next five times, in UTC. */
            next_times?: string[];
            created_by: string;
            /**
             * Format: date-time
             * @example 2026-11-21T12:00:00.000Z
             */
            created_at: string;
            /**
             * Format: date-time
             * @example 2026-11-21T12:00:00.000Z
             */
            updated_at: string;
        };
        NamingConfig: {
            /**
             * @description A regular expression in RE2 syntax. It is searched for in the name: anchor it with ^ and $ to match the whole name.
             * @example ^[A-Z][A-Z0-9_]*$
             */
            pattern: string;
        };
        /**
         * @example {
         *       "max_age_days": 90,
         *       "auto_rotate": true
         *     }
         */
        RotationConfig: {
            /** @description How old a value may be, in days. */
            max_age_days?: number;
            /** @description When values are due, in UTC: minute (one number), hour, day of month, month, day of week. Send this or max_age_days. */
            cron?: string;
            /**
             * @description Replaces due values of secrets that have auto_rotate, if this service generated them.
             * @default false
             */
            auto_rotate: boolean;
        };
        ApprovalConfig: {
            operations: ("secret.read" | "secret.update" | "secret.rotate" | "secret.delete" | "secret.share" | "break_glass.create" | "provider_token.create" | "policy.change" | "team.change" | "member.change")[];
            /** @description How many people have to approve. */
            required: number;
            /**
             * @description Whose members approve: a team, or a role.
             * @example {
             *       "role": "admin"
             *     }
             */
            approvers: components["schemas"]["ApprovalConfigApprovers"];
            /**
             * @description Whether a break-glass token needs no approval for secrets.
             * @default false
             */
            allow_break_glass: boolean;
        };
        /**
         * @example {
         *       "name": "Upper case",
         *       "kind": "naming",
         *       "applies_to": {
         *         "environments": [
         *           "production"
         *         ]
         *       },
         *       "config": {
         *         "pattern": "^[A-Z][A-Z0-9_]*$"
         *       }
         *     }
         */
        PolicyIn: components["schemas"]["PolicyInNaming"] | components["schemas"]["PolicyInRotation"] | components["schemas"]["PolicyInApproval"];
        PolicyPage: {
            data: components["schemas"]["Policy"][];
            /** @description Pass it as cursor to get the next page. null on the last page. */
            next_cursor: string | null;
            has_more: boolean;
        };
        /**
         * @example {
         *       "enabled": false
         *     }
         */
        PolicyPatch: {
            name?: string;
            enabled?: boolean;
            /** @description Replaces all of applies_to. */
            applies_to?: {
                /** @description Environments by id or slug. */
                environments?: string[] | null;
                types?: ("api_key" | "password" | "database_url" | "certificate" | "private_key" | "ssh_key" | "oauth_token" | "webhook_secret" | "env_var" | "json" | "generic")[] | null;
                /**
                 * @description Secret names as glob patterns (* and ?).
                 * @example [
                 *       "app/*"
                 *     ]
                 */
                names?: string[] | null;
            };
            /** @description Replaces all of config. Its fields are those of the kind of the policy, which cannot change. */
            config?: components["schemas"]["PolicyConfig"];
        };
        PolicyViolationPage: {
            data: components["schemas"]["PolicyViolation"][];
            /** @description Pass it as cursor to get the next page. null on the last page. */
            next_cursor: string | null;
            has_more: boolean;
        };
        PolicyViolation: {
            /** @example sec_01M9xQeKcX3vTz6nWJfQ4b */
            id: string;
            name: string;
            /** @enum {string} */
            type: "api_key" | "password" | "database_url" | "certificate" | "private_key" | "ssh_key" | "oauth_token" | "webhook_secret" | "env_var" | "json" | "generic";
            environment: string;
        };
        ApprovalPage: {
            data: components["schemas"]["Approval"][];
            /** @description Pass it as cursor to get the next page. null on the last page. */
            next_cursor: string | null;
            has_more: boolean;
        };
        Approval: {
            /** @example apr_01M9xQeKcX3vTz6nWJfQ4b */
            id: string;
            /**
             * @description pending: waits to be decided. approved: the request can be repeated with Approval-Id until expires_at. used: it was. expired: nobody decided or used it in time.
             * @enum {string}
             */
            status: "pending" | "approved" | "rejected" | "cancelled" | "used" | "expired";
            /** @enum {string} */
            operation: "secret.read" | "secret.update" | "secret.rotate" | "secret.delete" | "secret.share" | "break_glass.create" | "provider_token.create" | "policy.change" | "team.change" | "member.change";
            /**
             * @description The action, as in the audit log.
             * @example secret.read
             */
            action: string;
            /** @description What the request asks for, in a sentence. */
            summary: string;
            /** @description How many members have to approve. */
            required: number;
            approvals: {
                member_id: string;
                /**
                 * Format: date-time
                 * @example 2026-11-21T12:00:00.000Z
                 */
                time: string;
            }[];
            decisions: {
                member_id: string;
                name: string | null;
                /** @enum {string} */
                decision: "approve" | "reject";
                /**
                 * Format: date-time
                 * @example 2026-11-21T12:00:00.000Z
                 */
                time: string;
            }[];
            /** @description The policies that hold the request. */
            policies: {
                id: string;
                name: string;
                required: number;
            }[];
            requester: {
                kind: string;
                id: string | null;
                parent_id: string | null;
                name: string | null;
                /** @description The members behind the requesting credential. They cannot decide this request. */
                accountable: {
                    member_id: string;
                    name: string | null;
                }[];
            };
            target: {
                id: string | null;
                name: string | null;
                environment: string | null;
            };
            request: {
                id: string;
                method: string;
                path: string;
                /** @description Keyed digest of method, path, query and body. */
                digest: string;
                ip: string;
                place: string | null;
                user_agent: string | null;
                /** @description X-Access-Reason of the request. */
                reason: string | null;
            };
            /** @description Whether the calling member may decide it now. */
            may_decide: boolean;
            /**
             * Format: date-time
             * @example 2026-11-21T12:00:00.000Z
             */
            created_at: string;
            /**
             * Format: date-time
             * @example 2026-11-21T12:00:00.000Z
             */
            expires_at: string;
            /**
             * Format: date-time
             * @example 2026-11-21T12:00:00.000Z
             */
            ended_at: string | null;
        };
        Device: {
            /** @example dev_01M9xQeKcX3vTz6nWJfQ4b */
            id: string;
            name: string;
            /**
             * @description Its platform, in your words.
             * @example macOS 26
             */
            platform: string;
            /**
             * @description Its serial number or asset tag.
             * @example C02XK1JHJG5H
             */
            serial: string | null;
            /**
             * @description Its public key as a JWK. It cannot be changed.
             * @example {
             *       "kty": "OKP",
             *       "crv": "Ed25519",
             *       "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"
             *     }
             */
            public_key: {
                /** @enum {string} */
                kty: "EC" | "OKP";
                /** @enum {string} */
                crv: "P-256" | "Ed25519";
                x: string;
                y?: string;
            } | null;
            /**
             * @description The thumbprint of the public key (RFC 7638).
             * @example kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k
             */
            thumbprint: string | null;
            /** @example mem_01M9xQeKcX3vTz6nWJfQ4b */
            member_id: string | null;
            /**
             * @description blocked: it was blocked, or the member it is assigned to was removed. A blocked device stays blocked.
             * @enum {string}
             */
            status: "active" | "blocked";
            /**
             * Format: date-time
             * @example 2026-11-21T12:00:00.000Z
             */
            created_at: string;
            /** @description Id of the credential or member that registered it. */
            created_by: string;
            /**
             * Format: date-time
             * @example 2026-11-21T12:00:00.000Z
             */
            assigned_at: string | null;
            /**
             * Format: date-time
             * @example 2026-11-21T12:00:00.000Z
             */
            blocked_at: string | null;
        };
        DeviceIn: {
            name: string;
            /**
             * @description Its platform, in your words.
             * @example macOS 26
             */
            platform: string;
            /**
             * @description Its serial number or asset tag.
             * @example C02XK1JHJG5H
             */
            serial?: string;
            /**
             * @description The public half of a P-256 or Ed25519 key, as a JWK. Only kty, crv, x and y are kept. A private key (d) is refused.
             * @example {
             *       "kty": "OKP",
             *       "crv": "Ed25519",
             *       "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"
             *     }
             */
            public_key?: {
                /** @enum {string} */
                kty: "EC" | "OKP";
                /** @enum {string} */
                crv: "P-256" | "Ed25519";
                x: string;
                y?: string;
                kid?: string;
                use?: string;
                alg?: string;
                key_ops?: string[];
                ext?: boolean;
            };
        };
        DevicePage: {
            data: components["schemas"]["Device"][];
            /** @description Pass it as cursor to get the next page. null on the last page. */
            next_cursor: string | null;
            has_more: boolean;
        };
        DevicePatch: {
            name?: string;
            /**
             * @description Its platform, in your words.
             * @example macOS 26
             */
            platform?: string;
            /**
             * @description Its serial number or asset tag.
             * @example C02XK1JHJG5H
             */
            serial?: string | null;
        };
        DeviceAssign: {
            /**
             * @description The member to assign it to. null unassigns it.
             * @example mem_01M9xQeKcX3vTz6nWJfQ4b
             */
            member_id: string | null;
        };
        AuditPage: {
            data: components["schemas"]["AuditEntry"][];
            /** @description Pass it as cursor to get the next page. null on the last page. */
            next_cursor: string | null;
            has_more: boolean;
        };
        AuditEntry: {
            id: string;
            sequence: number;
            /**
             * @description How hash is made. 2: over canonical JSON. Absent from entries of releases before 0.5.0: over compact JSON in the order of their fields.
             * @example 2
             */
            format?: number;
            /**
             * Format: date-time
             * @example 2026-11-21T12:00:00.000Z
             */
            time: string;
            actor: {
                kind: string;
                id: string | null;
                parent_id: string | null;
                name: string | null;
            };
            /**
             * @description What was done. integrity.alarm is written by the system when stored data was altered or is missing (an integrity violation): reason names the event, request_id the request that found it. audit.missing is written by the system once after an upgrade, if earlier releases have noted lost entries.
             * @example secret.read
             */
            action: string;
            resource: string | null;
            /**
             * @description The name of the secret at that time, also if the request was refused or found nothing.
             * @example DATABASE_URL
             */
            resource_name?: string | null;
            environment: string | null;
            /** @description Version of the secret. For a bulk read, the revision of the environment: the sequence of the last change there. For a confirmed export, the sequence at which it ends. */
            version: number | null;
            reason: string | null;
            request_id: string;
            ip: string;
            user_agent: string | null;
            prefix?: string;
            /** @description For a bulk read by a caller that is limited to some names: its name patterns. They are repeated once in twelve hours; entries in between hold patterns_digest alone. */
            patterns?: string[];
            /** @description SHA-256 of the name patterns as compact JSON. */
            patterns_digest?: string;
            /** @description For a bulk read that left out secrets whose reads need approval: their ids. They are repeated once in twelve hours; entries in between, and those of a caller that causes very many, hold withheld_digest alone. */
            withheld?: string[];
            /** @description SHA-256 of these ids as compact JSON. */
            withheld_digest?: string;
            /** @description For a rotation of an API key or a panic: the id of the new API key. */
            successor?: string;
            /** @description For a secret that is shared: the id of the link or the grant. */
            share?: string;
            /**
             * Format: date-time
             * @description For a change that sets a lifetime: when it ends.
             * @example 2026-11-21T12:00:00.000Z
             */
            expires_at?: string | null;
            /** @description For a change that renames or deletes a secret: its previous name. */
            former_name?: string;
            /** @description The id of the approval that the request used. */
            approval?: string;
            /** @description The ids of policies that a break-glass token passed. */
            bypassed_policies?: string[];
            /** @description For a scan: how many findings are known by their format alone, how many secrets have a value that was found, and how many tokens of this organisation were found. */
            findings?: {
                known: number;
                secrets: number;
                tokens: number;
            };
            /** @description For a generated file: its format, and of how many secrets it was made. */
            file?: {
                format: string;
                secrets: number;
            };
            /** @description For a sync: the platform that secrets are sent to, and how many. */
            sent?: {
                platform: string;
                secrets: number;
            };
            /** @description For a generated file or a sync: the names of its secrets, up to 16 KiB together. Beyond that, prefix and patterns say among which names they are. */
            names?: string[];
            /** @description For an import: its source, how many secrets it created, updated and skipped, how many items failed, the names of the secrets that it wrote, as far as they fit, how many names are left out, and the versions that it wrote, by the ids of the secrets. */
            imported?: {
                source: string;
                created: number;
                updated: number;
                skipped: number;
                failed: number;
                names: string[];
                unnamed: number;
                versions: {
                    [key: string]: number;
                };
                dry_run: boolean;
            };
            /** @description After a restore or the loss of a gate: the ranges of sequences that the log has lost. */
            missing?: {
                from: number;
                to: number;
                /** @enum {string} */
                reason: "restore" | "gate_lost";
            }[];
            /** @enum {string} */
            outcome: "success" | "denied" | "failed";
            status: number;
            /** @description How many requests the entry stands for. More than 1 only for requests over the rate limit. */
            count: number;
            /** @description Whether it concerns a break-glass token. */
            emergency: boolean;
            /** @description hash of the previous entry. */
            prev_hash: string;
            /** @description SHA-256 in hexadecimal of the canonical JSON (RFC 8785) of this entry without hash. */
            hash: string;
        };
        Verification: {
            ok: boolean;
            /** @description Sequence of the first entry that this call checked. */
            checked_from: number;
            checked_to: number;
            head: {
                sequence: number;
                hash: string;
            };
            /** @description Pass it as cursor to check the next part. null when the newest entry was checked. */
            next: string | null;
            /**
             * @description Signed checkpoints in this part that the entries match.
             * @example 1
             */
            checkpoints: number;
            /** @description The first fault. entry: this entry does not follow the one before it, or its hash is wrong. checkpoint_altered: the signature of the checkpoint of this entry is wrong. checkpoint_missing: it was deleted from the database. checkpoint_differs: the entry is not the one that was signed. cut_off: a checkpoint was signed of a newer entry than the newest. */
            broken?: {
                sequence: number;
                id: string | null;
                /** @enum {string} */
                reason: "entry" | "checkpoint_altered" | "checkpoint_missing" | "checkpoint_differs" | "cut_off";
            };
            /**
             * @description Ranges of lost entries in this part. restore: the restored backup does not contain them. gate_lost: the gate lost its storage before it moved them to the database; their sequences are never used again. The chain is checked before and after each range. confirmed_through: a signed checkpoint says that the entries up to this sequence existed.
             * @example []
             */
            missing: {
                from: number;
                to: number;
                /** @enum {string} */
                reason: "restore" | "gate_lost";
                confirmed_through: number | null;
            }[];
        };
        CheckpointPage: {
            data: components["schemas"]["Checkpoint"][];
            /** @description Pass it as cursor to get the next page. null on the last page. */
            next_cursor: string | null;
            has_more: boolean;
        };
        Checkpoint: {
            /** @example org_01M9xQeKcX3vTz6nWJfQ4b */
            org: string;
            sequence: number;
            /** @description hash of the entry with this sequence. */
            hash: string;
            /**
             * Format: date-time
             * @example 2026-11-21T12:00:00.000Z
             */
            time: string;
            /** @description Which key signed it: the key_id of `GET /orgs/{org_id}/audit-log/key`. */
            key_id: string;
            /** @description Ed25519 signature in base64 over the canonical JSON (RFC 8785) of `{ hash, org, sequence, time }`. */
            signature: string;
        };
        CheckpointKey: {
            /** @description Thumbprint of the key (RFC 7638). */
            key_id: string;
            /** @description The public key as a JWK (RFC 8037). */
            jwk: {
                /** @enum {string} */
                kty: "OKP";
                /** @enum {string} */
                crv: "Ed25519";
                x: string;
                kid: string;
                /** @enum {string} */
                use: "sig";
                /** @enum {string} */
                alg: "EdDSA";
            };
            /** @description The public key in PEM (SubjectPublicKeyInfo). */
            pem: string;
        };
        AuditExportLine: components["schemas"]["AuditEntry"] | components["schemas"]["AuditExportLineChoice2"];
        ExportConfirmed: {
            /**
             * @description Entries up to this sequence are exported, and may be deleted.
             * @example 12000
             */
            exported_through: number;
            /**
             * @description Entries up to this sequence have been deleted. More follow within minutes.
             * @example 8000
             */
            deleted_through: number;
        };
        ExportConfirmation: {
            /** @description sequence of the checkpoint in the last line of the export. */
            sequence: number;
            /**
             * @description hash of the same checkpoint.
             * @example aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
             */
            hash: string;
        };
        ReaderPage: {
            data: components["schemas"]["Reader"][];
            /** @description Pass it as cursor to get the next page. null on the last page. */
            next_cursor: string | null;
            has_more: boolean;
        };
        Reader: {
            actor: {
                kind: string;
                id: string | null;
                name: string | null;
                parent_id: string | null;
            };
            /**
             * @description How it was read last: by itself, or with all values of its environment.
             * @enum {string}
             */
            via: "read" | "bulk";
            /**
             * Format: date-time
             * @example 2026-11-21T12:00:00.000Z
             */
            last_read_at: string;
            /** @description The version that was read last. null if it was a bulk read and the secret has changed since. */
            version: number | null;
            /** @description Number of reads. */
            count: number;
        };
        Archived: {
            /**
             * @description Number of entries that this call moved.
             * @example 12
             */
            archived: number;
            /**
             * @description Sequence of the newest entry that was moved.
             * @example 12
             */
            head: number;
        };
        ComplianceReport: {
            org: {
                /** @example org_01M9xQeKcX3vTz6nWJfQ4b */
                id: string;
                /** @example Acme */
                name: string;
            };
            /**
             * Format: date-time
             * @example 2026-11-21T12:00:00.000Z
             */
            generated_at: string;
            period: {
                /**
                 * Format: date-time
                 * @example 2026-11-21T12:00:00.000Z
                 */
                from: string;
                /**
                 * Format: date-time
                 * @example 2026-11-21T12:00:00.000Z
                 */
                to: string;
            };
            /**
             * @description Findings by status.
             * @example {
             *       "pass": 9,
             *       "warn": 5,
             *       "fail": 2,
             *       "not_applicable": 1
             *     }
             */
            summary: {
                pass: number;
                warn: number;
                fail: number;
                not_applicable: number;
            };
            inventory: components["schemas"]["ComplianceInventory"];
            findings: components["schemas"]["ComplianceFinding"][];
            controls: components["schemas"]["ComplianceControl"][];
        };
        ComplianceInventory: {
            secrets: {
                active: number;
                expired: number;
                revoked: number;
                /**
                 * @description Deleted, and still restorable.
                 * @example 1
                 */
                deleted: number;
                /**
                 * @description Active secrets whose current value this service generated.
                 * @example 1
                 */
                generated: number;
                /** @description Active secrets by the age of their current value in days. */
                by_age: {
                    /** @example 0-30 */
                    days: string;
                    secrets: number;
                }[];
            };
            /** @description Live credentials by kind. Session tokens and browser sessions are only counted. */
            credentials: {
                /** @example api_key */
                kind: string;
                live: number;
                without_expiry: number;
                unused: number;
                over_scoped: number;
            }[];
            members: {
                total: number;
                by_role: {
                    owner: number;
                    admin: number;
                    developer: number;
                    viewer: number;
                    auditor: number;
                };
                without_passkey: number;
            };
            devices: {
                total: number;
                assigned: number;
                blocked: number;
            };
            /** @description Enabled policies by kind. */
            policies: {
                naming: number;
                rotation: number;
                approval: number;
            };
            audit_log: {
                head: {
                    sequence: number;
                    hash: string;
                };
                /**
                 * @description Sequence of the first entry that was verified for this report.
                 * @example 1
                 */
                verified_from: number;
                verified_to: number;
                last_checkpoint: {
                    sequence: number;
                    /**
                     * Format: date-time
                     * @example 2026-11-21T12:00:00.000Z
                     */
                    time: string;
                } | null;
                /** @example 400 */
                retention_days: number;
            };
        };
        ComplianceFinding: {
            /** @enum {string} */
            id: "secrets-rotation-overdue" | "secrets-never-rotated" | "secrets-expiring" | "secrets-unread" | "secrets-naming" | "credentials-unused" | "credentials-without-expiry" | "credentials-over-scoped" | "members-without-passkey" | "devices-unassigned" | "break-glass-use" | "approvals" | "emergency-operations" | "refused-administration" | "integrity-alarms" | "audit-chain" | "delivery-failures";
            /** @example Secrets overdue for rotation */
            title: string;
            /** @enum {string} */
            area: "secrets" | "credentials" | "people" | "governance" | "audit" | "delivery";
            /**
             * @description not_applicable: there was nothing to test.
             * @example warn
             * @enum {string}
             */
            status: "pass" | "warn" | "fail" | "not_applicable";
            /**
             * @description What exactly was tested, with the thresholds of each status.
             * @example Whether 120 active secrets are past the end of their rotation period.
             */
            tested: string;
            /**
             * @description How many were tested.
             * @example 120
             */
            examined: number;
            /**
             * @description How many were found.
             * @example 3
             */
            count: number;
            /** @description false if a bound was reached before everything was tested. tested says which. */
            complete: boolean;
            /** @description The first 100. */
            evidence: components["schemas"]["ComplianceEvidence"][];
            remedy: string;
            /**
             * @example {
             *       "soc2": [
             *         "CC6.1"
             *       ],
             *       "iso27001": [
             *         "A.5.17"
             *       ]
             *     }
             */
            controls: {
                soc2: string[];
                iso27001: string[];
            };
        };
        ComplianceEvidence: {
            /**
             * @description The id of what was found: a secret, a credential, an audit entry.
             * @example sec_01M9xQeKcX3vTz6nWJfQ4b
             */
            id: string;
            /** @example payments/stripe-key */
            name: string | null;
            environment: string | null;
            /**
             * Format: date-time
             * @description The time on which the finding turns.
             * @example 2026-11-21T12:00:00.000Z
             */
            time: string | null;
            /**
             * @description What was found.
             * @example Due since 2026-09-01T00:00:00.000Z by the policy Quarterly.
             */
            detail: string;
            /**
             * @description The ids, times and counts behind it, by name.
             * @example {
             *       "version": 1,
             *       "rotated_at": "2026-06-03T00:00:00.000Z"
             *     }
             */
            facts: {
                [key: string]: string | number | boolean | null;
            };
            /** @description For an approval: who decided, and how. */
            people?: {
                id: string;
                name: string | null;
                /** @enum {string} */
                decision: "approve" | "reject";
                /**
                 * Format: date-time
                 * @example 2026-11-21T12:00:00.000Z
                 */
                time: string;
            }[];
        };
        ComplianceControl: {
            /** @enum {string} */
            framework: "soc2" | "iso27001";
            /** @example CC6.1 */
            id: string;
            /** @example Logical access security over protected information assets */
            title: string;
            /**
             * @description The worst status of its findings.
             * @example warn
             * @enum {string}
             */
            status: "pass" | "warn" | "fail" | "not_applicable";
            findings: ("secrets-rotation-overdue" | "secrets-never-rotated" | "secrets-expiring" | "secrets-unread" | "secrets-naming" | "credentials-unused" | "credentials-without-expiry" | "credentials-over-scoped" | "members-without-passkey" | "devices-unassigned" | "break-glass-use" | "approvals" | "emergency-operations" | "refused-administration" | "integrity-alarms" | "audit-chain" | "delivery-failures")[];
        };
        EventPage: {
            data: components["schemas"]["Event"][];
            /** @description Pass it as after to read on. A page can be empty and yet have more behind it. */
            next_after: number;
            has_more: boolean;
        };
        Event: {
            /** @description The number of the event in its organisation. Numbers follow each other without gaps. */
            sequence: number;
            id: string;
            /** @enum {string} */
            type: "CREDENTIAL_CREATED" | "CREDENTIAL_REVOKED" | "BREAK_GLASS_ISSUED" | "BREAK_GLASS_USED" | "MEMBER_ENROLLED" | "ENROLMENT_CREATED" | "ORG_RECOVERED" | "SECRET_ROTATION_DUE" | "SECRET_ROTATED" | "POLICY_VIOLATED" | "APPROVAL_REQUESTED" | "APPROVAL_DECIDED" | "DEVICE_REGISTERED" | "DEVICE_ASSIGNED" | "DEVICE_UNASSIGNED" | "DEVICE_BLOCKED" | "DEVICE_REMOVED" | "AUDIT_CHECKPOINT" | "SECRET_CREATED" | "SECRET_UPDATED" | "SECRET_DELETED" | "SECRET_RESTORED" | "SECRET_SHARED" | "SECRET_REVOKED" | "SECRET_EXPIRING" | "SECRET_EXPIRED" | "SECRET_LEAKED" | "CREDENTIAL_EXPIRING" | "WEBHOOK_DISABLED" | "SYNC_COMPLETED" | "SYNC_FAILED";
            /**
             * Format: date-time
             * @example 2026-11-21T12:00:00.000Z
             */
            timestamp: string;
            org_id: string;
            /** @description Ids, names and versions of what happened; never a value. */
            data: {
                [key: string]: unknown;
            };
        };
        WebhookCreated: components["schemas"]["Webhook"] & {
            /**
             * @description The signing secret, shown once.
             * @example whsec_C2FVsBQIhrscChlQ…
             */
            secret: string | null;
        };
        Webhook: {
            /** @example whk_01M9xQeKcX3vTz6nWJfQ4b */
            id: string;
            /** @description The URL. Of one that is itself a credential, such as that of a Slack webhook, the host alone. */
            url: string;
            /**
             * @example [
             *       "SECRET_ROTATED"
             *     ]
             */
            events: components["schemas"]["WebhookEvents"];
            description: string | null;
            enabled: boolean;
            /**
             * @description `user`: by PATCH; `failing`: no attempt had success for 5 days; `gone`: the receiver answered 410.
             * @enum {string|null}
             */
            disabled_reason: "user" | "failing" | "gone" | null;
            /**
             * Format: date-time
             * @description Until when the secret before the last rotation signs too.
             * @example 2026-11-21T12:00:00.000Z
             */
            old_secret_until: string | null;
            created_by: string;
            /**
             * Format: date-time
             * @example 2026-11-21T12:00:00.000Z
             */
            created_at: string;
            /**
             * Format: date-time
             * @example 2026-11-21T12:00:00.000Z
             */
            updated_at: string;
        };
        WebhookIn: {
            /**
             * @description An https URL of a public host without credentials or fragment, with port 443 or one from 1024 that is of no known service.
             * @example https://hooks.example.com/vault
             */
            url: string;
            /**
             * @description Kinds of events, or `*` for all, later ones included.
             * @example [
             *       "SECRET_ROTATED",
             *       "SECRET_DELETED"
             *     ]
             */
            events: components["schemas"]["WebhookEventsChoice"];
            /** @example Restarts the payment service */
            description?: string;
        };
        WebhookPage: {
            data: components["schemas"]["Webhook"][];
            /** @description Pass it as cursor to get the next page. null on the last page. */
            next_cursor: string | null;
            has_more: boolean;
        };
        WebhookPatch: {
            /**
             * @description An https URL of a public host without credentials or fragment, with port 443 or one from 1024 that is of no known service.
             * @example https://hooks.example.com/vault
             */
            url?: string;
            /**
             * @description Kinds of events, or `*` for all, later ones included.
             * @example [
             *       "SECRET_ROTATED",
             *       "SECRET_DELETED"
             *     ]
             */
            events?: components["schemas"]["WebhookEventsChoice"];
            /** @example Restarts the payment service */
            description?: string | null;
            enabled?: boolean;
        };
        WebhookRotateSecretIn: {
            /**
             * @description For how long the old secret signs too, 86,400 by default.
             * @example 3600
             */
            overlap_seconds?: number;
        };
        WebhookDelivery: {
            /** @example dlv_01M9xQeKcX3vTz6nWJfQ4b */
            id: string;
            /** @example whk_01M9xQeKcX3vTz6nWJfQ4b */
            webhook_id: string;
            /**
             * @description Sent as `webhook-id`: the same in each attempt.
             * @example evt_01M9xQeKcX3vTz6nWJfQ4b
             */
            event_id: string;
            /** @example SECRET_ROTATED */
            event_type: string;
            /**
             * @description `failed`: no further attempt is made; it can be redelivered.
             * @enum {string}
             */
            status: "pending" | "delivered" | "failed";
            /** @example 1 */
            attempts: number;
            /**
             * Format: date-time
             * @example 2026-11-21T12:00:00.000Z
             */
            created_at: string;
            /**
             * Format: date-time
             * @example 2026-11-21T12:00:00.000Z
             */
            next_attempt_at: string | null;
            /**
             * Format: date-time
             * @example 2026-11-21T12:00:00.000Z
             */
            last_attempt_at: string | null;
            /**
             * @description How long the last attempt took.
             * @example 85
             */
            duration_ms: number | null;
            /** @example 200 */
            response_status: number | null;
            /**
             * @description Why the last attempt failed: `http_status`, `timeout`, `connection_failed`, `name_not_found`, `private_address`, `target_refused`; or why there is none: `webhook_disabled`, `backlog_full`.
             * @example null
             */
            error: string | null;
            /**
             * @description The first 1 kB of the last response.
             * @example ok
             */
            response: string | null;
        };
        WebhookDeliveryPage: {
            data: components["schemas"]["WebhookDelivery"][];
            /** @description Pass it as cursor to get the next page. null on the last page. */
            next_cursor: string | null;
            has_more: boolean;
        };
        WebhookRedelivered: {
            /** @example 12 */
            redelivered: number;
            /** @description Whether failed deliveries are left: repeat the call. */
            has_more: boolean;
        };
        WebhookRedeliverIn: {
            /**
             * Format: date-time
             * @description Time of the oldest event.
             * @example 2026-11-21T12:00:00.000Z
             */
            since: string;
        };
        GeneratedFile: {
            /** @example .env */
            filename: string;
            /** @example text/plain */
            contentType: string;
            /**
             * @description The file, in UTF-8 without a byte order mark.
             * @example DATABASE_URL=postgres://…
             */
            content: string;
        };
        GenerateIn: {
            /**
             * @example dotenv
             * @enum {string}
             */
            format: "kubernetes" | "external-secrets" | "docker-env" | "compose-secrets" | "dotenv" | "shell" | "tfvars" | "tfvars-json" | "ansible" | "helm" | "systemd" | "github-actions" | "dev-vars" | "json" | "yaml" | "properties";
            /**
             * @description An environment, by id or slug.
             * @example production
             */
            environmentId: string;
            /**
             * @description Names of secrets. By default all active secrets of the environment that the caller may read.
             * @example [
             *       "DATABASE_URL"
             *     ]
             */
            names?: string[];
            /**
             * @description Options of the format. kubernetes: name, namespace; external-secrets: name, namespace, store, storeKind, refreshInterval; dotenv: dialect.
             * @example {
             *       "dialect": "node"
             *     }
             */
            options?: {
                [key: string]: string;
            };
        };
        Imported: {
            /**
             * @description Names of new secrets.
             * @example [
             *       "DATABASE_URL"
             *     ]
             */
            created: string[];
            /**
             * @description Names of secrets that were changed.
             * @example []
             */
            updated: string[];
            /**
             * @description Names of secrets that stay as they are.
             * @example []
             */
            skipped: string[];
            /**
             * @description Items that are not imported: the name in the export, and a code, with a sentence where it says more.
             * @example []
             */
            failed: {
                name: string;
                reason: string;
            }[];
        };
        ImportIn: {
            /**
             * @description The tool that made the export.
             * @example doppler
             * @enum {string}
             */
            source: "vault" | "aws-secrets-manager" | "aws-ssm" | "gcp-secret-manager" | "azure-key-vault" | "doppler" | "infisical" | "1password" | "bitwarden-secrets-manager" | "bitwarden" | "keeper" | "conjur" | "dotenv" | "svc";
            /**
             * @description The export: as JSON, or its text. Nested 64 levels deep at most.
             * @example {
             *       "DATABASE_URL": "postgres://…"
             *     }
             */
            data: unknown;
            /**
             * @description Id or slug. By default the default environment.
             * @example production
             */
            environmentId?: string;
            /**
             * @description What happens to secrets that exist. skip: they stay. overwrite: they get a new version. fail: 409 IMPORT_CONFLICT, and nothing is imported.
             * @example skip
             * @enum {string}
             */
            onConflict: "skip" | "overwrite" | "fail";
            /**
             * @description Whether to answer what would happen, and write nothing. false by default.
             * @example false
             */
            dryRun?: boolean;
            /**
             * @description What each name gets in front. Empty by default.
             * @example
             */
            prefix?: string;
        };
        PlatformPage: {
            data: components["schemas"]["Platform"][];
            /** @description Pass it as cursor to get the next page. null on the last page. */
            next_cursor: string | null;
            has_more: boolean;
        };
        Platform: {
            /** @example slack */
            platform: string;
            /** @enum {string} */
            kind: "sync" | "notify";
            /**
             * @description JSON Schema (2020-12) of the config. Credentials are writeOnly.
             * @example {
             *       "type": "object"
             *     }
             */
            configSchema: {
                [key: string]: unknown;
            };
        };
        Notified: {
            /** @enum {boolean} */
            delivered: true;
            /**
             * @description The HTTP status of the platform.
             * @example 200
             */
            status: number;
        };
        /**
         * @example {
         *       "platform": "slack",
         *       "config": {
         *         "webhookUrl": "https://hooks.slack.com/services/T000/B000/XXXX"
         *       },
         *       "severity": "info",
         *       "message": "Deployed 1.4.2 to production"
         *     }
         */
        NotifyIn: {
            /**
             * @example slack
             * @enum {string}
             */
            platform?: "slack" | "microsoft-teams" | "discord" | "google-chat" | "mattermost" | "telegram" | "pagerduty" | "opsgenie" | "webhook" | "email";
            /**
             * @description What the platform needs, by the schema that GET /integrations/platforms shows for it. Credentials in it are never returned.
             * @example {
             *       "webhookUrl": "https://hooks.slack.com/services/T000/B000/XXXX"
             *     }
             */
            config?: {
                [key: string]: components["schemas"]["NotifyConfigValue"];
            };
            /**
             * @description A stored connection of kind notify, in place of platform and config.
             * @example int_01M9xQeKcX3vTz6nWJfQ4b
             */
            integrationId?: string;
            /**
             * @description info by default.
             * @example info
             * @enum {string}
             */
            severity?: "critical" | "error" | "warning" | "info";
            /**
             * @description By default a sentence that says that this is a test. Too long a message is cut to what the platform takes.
             * @example Deployed 1.4.2 to production
             */
            message?: string;
        };
        Integration: {
            /** @example int_01M9xQeKcX3vTz6nWJfQ4b */
            id: string;
            /** @enum {string} */
            kind: "sync" | "notify";
            /** @example slack */
            platform: string;
            /** @example Operations channel */
            name: string;
            /**
             * @description The config without its credentials; of a webhook URL its host alone.
             * @example {
             *       "webhookUrl": "hooks.slack.com"
             *     }
             */
            config: {
                [key: string]: components["schemas"]["NotifyConfigValue"];
            };
            /**
             * @description Of kind notify.
             * @example [
             *       "SECRET_ROTATED",
             *       "SECRET_LEAKED"
             *     ]
             */
            events?: components["schemas"]["IntegrationEvents"];
            /**
             * @description Of kind sync: ids of environments; null for those that its maker may read.
             * @example [
             *       "env_01M9xQeKcX3vTz6nWJfQ4b"
             *     ]
             */
            environments?: string[] | null;
            /**
             * @description Of kind sync.
             * @example false
             */
            auto?: boolean;
            /**
             * @description Of kind sync.
             * @example false
             */
            prune?: boolean;
            /**
             * Format: date-time
             * @example 2026-11-21T12:00:00.000Z
             */
            createdAt: string;
            /**
             * Format: date-time
             * @example 2026-11-21T12:00:00.000Z
             */
            updatedAt: string;
        };
        /**
         * @example {
         *       "kind": "notify",
         *       "platform": "slack",
         *       "name": "Operations channel",
         *       "config": {
         *         "webhookUrl": "https://hooks.slack.com/services/T000/B000/XXXX"
         *       }
         *     }
         */
        IntegrationIn: components["schemas"]["IntegrationInSync"] | components["schemas"]["IntegrationInNotify"];
        IntegrationPage: {
            data: components["schemas"]["Integration"][];
            /** @description Pass it as cursor to get the next page. null on the last page. */
            next_cursor: string | null;
            has_more: boolean;
        };
        IntegrationPatch: {
            /** @example Operations channel */
            name?: string;
            /**
             * @description Fields to replace; null removes an optional one, and what is absent stays. If a field that is no credential changes, the stored credentials are erased and must come along.
             * @example {
             *       "webhookUrl": "https://hooks.slack.com/services/T000/B000/XXXX"
             *     }
             */
            config?: {
                [key: string]: components["schemas"]["IntegrationConfigValue"];
            };
            /**
             * @description Kinds of events to send messages about, or "*" for all.
             * @example [
             *       "SECRET_ROTATED",
             *       "SECRET_LEAKED"
             *     ]
             */
            events?: components["schemas"]["IntegrationEvents"];
            /**
             * @description Of kind sync: ids or slugs of the environments that it may be run on, and no others. By default those that its maker may read.
             * @example [
             *       "production"
             *     ]
             */
            environments?: string[];
            /**
             * @description Of kind sync: sync an environment a few seconds after a secret there has changed. false by default.
             * @example false
             */
            auto?: boolean;
            /**
             * @description Of kind sync: whether automatic syncs prune. false by default.
             * @example false
             */
            prune?: boolean;
        };
        SyncDryRun: {
            /** @enum {string} */
            platform: "vercel" | "netlify" | "heroku" | "fly" | "render" | "railway" | "cloudflare-workers" | "cloudflare-pages" | "digitalocean" | "supabase" | "github-actions" | "gitlab-ci" | "circleci" | "bitbucket-pipelines" | "buildkite" | "hcp-terraform" | "aws-secrets-manager" | "aws-ssm" | "gcp-secret-manager" | "azure-key-vault" | "kubernetes";
            /** @example env_01M9xQeKcX3vTz6nWJfQ4b */
            environmentId: string;
            /** @enum {boolean} */
            dryRun: true;
            results: components["schemas"]["SyncResult"][];
            redeployRequired: boolean;
        };
        SyncResult: {
            /**
             * @description The name of the secret; of a deleted one, the name that it had.
             * @example DATABASE_URL
             */
            name: string;
            /**
             * @description The full name at the target.
             * @example DATABASE_URL
             */
            targetName: string | null;
            /** @enum {string} */
            action: "created" | "updated" | "unchanged" | "deleted" | "skipped" | "failed";
            /**
             * @description Why a name failed or was skipped.
             * @example NAME_INVALID
             */
            code?: string;
            /** @example The target reserves names like this one. */
            message?: string;
        };
        QueuedSync: {
            /** @example syn_01M9xQeKcX3vTz6nWJfQ4b */
            syncId: string;
            /** @enum {string} */
            status: "queued";
        };
        /**
         * @example {
         *       "platform": "heroku",
         *       "config": {
         *         "token": "HRKU-00000000-0000-0000-0000-000000000000",
         *         "appName": "demo-app"
         *       },
         *       "environmentId": "production"
         *     }
         */
        SyncIn: {
            /**
             * @example heroku
             * @enum {string}
             */
            platform?: "vercel" | "netlify" | "heroku" | "fly" | "render" | "railway" | "cloudflare-workers" | "cloudflare-pages" | "digitalocean" | "supabase" | "github-actions" | "gitlab-ci" | "circleci" | "bitbucket-pipelines" | "buildkite" | "hcp-terraform" | "aws-secrets-manager" | "aws-ssm" | "gcp-secret-manager" | "azure-key-vault" | "kubernetes";
            /**
             * @description What the platform needs, by the schema that GET /integrations/platforms shows for it. Credentials in it are never returned.
             * @example {
             *       "token": "HRKU-00000000-0000-0000-0000-000000000000",
             *       "appName": "demo-app"
             *     }
             */
            config?: {
                [key: string]: components["schemas"]["NotifyConfigValue"];
            };
            /**
             * @description A stored connection of kind sync, in place of platform and config.
             * @example int_01M9xQeKcX3vTz6nWJfQ4b
             */
            integrationId?: string;
            /**
             * @description Id or slug of the environment whose secrets are sent.
             * @example production
             */
            environmentId: string;
            /**
             * @description Exact names. By default all secrets that take part.
             * @example [
             *       "DATABASE_URL"
             *     ]
             */
            names?: string[];
            /** @description Also delete what this service wrote to this target from this environment, and what is now gone from it. false by default. */
            prune?: boolean;
            /** @description Only say what would happen. false by default. */
            dryRun?: boolean;
        };
        SyncPage: {
            data: components["schemas"]["Sync"][];
            /** @description Pass it as cursor to get the next page. null on the last page. */
            next_cursor: string | null;
            has_more: boolean;
        };
        Sync: {
            /** @example syn_01M9xQeKcX3vTz6nWJfQ4b */
            id: string;
            /** @enum {string} */
            platform: "vercel" | "netlify" | "heroku" | "fly" | "render" | "railway" | "cloudflare-workers" | "cloudflare-pages" | "digitalocean" | "supabase" | "github-actions" | "gitlab-ci" | "circleci" | "bitbucket-pipelines" | "buildkite" | "hcp-terraform" | "aws-secrets-manager" | "aws-ssm" | "gcp-secret-manager" | "azure-key-vault" | "kubernetes";
            /** @example int_01M9xQeKcX3vTz6nWJfQ4b */
            integrationId: string | null;
            /** @example env_01M9xQeKcX3vTz6nWJfQ4b */
            environmentId: string;
            /**
             * @description completed: nothing failed. partial: some names failed, some did not. failed: some failed, and none was written or found unchanged.
             * @enum {string}
             */
            status: "queued" | "running" | "completed" | "partial" | "failed";
            /** @description One for each name, sorted by name. */
            results: components["schemas"]["SyncResult"][];
            /** @description Whether what was written takes effect with the next deployment there. */
            redeployRequired: boolean;
            /**
             * @description Seconds after which the target may be called again, where it said so.
             * @example null
             */
            retryAfter: number | null;
            /**
             * Format: date-time
             * @example 2026-11-21T12:00:00.000Z
             */
            createdAt: string;
            /**
             * Format: date-time
             * @example 2026-11-21T12:00:00.000Z
             */
            startedAt: string | null;
            /**
             * Format: date-time
             * @example 2026-11-21T12:00:00.000Z
             */
            finishedAt: string | null;
        };
        /**
         * @example {
         *       "id": "shr_01M9xQeKcX3vTz6nWJfQ4b",
         *       "url": "https://vault.example.com/s/shr_01M9xQeKcX3vTz6nWJfQ4b#svcshare_…",
         *       "expires_at": "2026-11-21T13:00:00.000Z"
         *     }
         */
        NewShare: components["schemas"]["NewShareChoice1"] | components["schemas"]["NewShareGrant"];
        ShareIn: components["schemas"]["ShareInLink"] | components["schemas"]["ShareInGrant"];
        SharePage: {
            data: components["schemas"]["Share"][];
            /** @description Pass it as cursor to get the next page. null on the last page. */
            next_cursor: string | null;
            has_more: boolean;
        };
        /**
         * @example {
         *       "id": "shr_01M9xQeKcX3vTz6nWJfQ4b",
         *       "kind": "link",
         *       "version": 1,
         *       "max_views": 3,
         *       "views": 1,
         *       "passphrase": true,
         *       "created_by": "key_01M9xQeKcX3vTz6nWJfQ4b",
         *       "created_at": "2026-11-21T12:00:00.000Z",
         *       "expires_at": "2026-11-21T13:00:00.000Z"
         *     }
         */
        Share: components["schemas"]["ShareLink"] | components["schemas"]["NewShareGrant"];
        Viewed: {
            /** @example DATABASE_URL */
            name: string;
            version: number;
            /** @example postgres://app:…@db.example.com/app */
            value: string;
        };
        ViewIn: {
            /**
             * @description What follows # in the link.
             * @example svcshare_…
             */
            key: string;
            passphrase?: string;
        };
        Scan: {
            id: string;
            findings: components["schemas"]["Finding"][];
            /** @description Whether not everything was looked at or is listed: the text holds more than 20,000 different candidates for stored values, more than 1,000 findings, or more than 100 live tokens to revoke. Send it in smaller parts. */
            truncated: boolean;
        };
        Finding: {
            /** @description Which format it has. svc-token: a token of this service. stored-secret: the value of a secret. */
            rule: string;
            /** @description The file, as the request named it. null for text. */
            path: string | null;
            /** @description Line, from 1. */
            line: number;
            /** @description Column, from 1, in UTF-16 code units. */
            column: number;
            /** @description The public prefix of the format, where it has one, and the length in characters. */
            preview: string;
            /** @description The active secret whose current value this is, if the caller may read it. */
            secret_id?: string;
            /** @description For a token of this organisation: whether it was live when it was found. Absent for a token of another organisation. */
            live?: boolean;
            /** @description For a token of this organisation, if the caller holds tokens:read. */
            credential_id?: string;
            /** @description true if this token is the calling credential, or one that it ends with. */
            is_caller?: boolean;
            /** @description With revoke_live, for a live token: whether this call revoked it. */
            revoked?: boolean;
        };
        ScanIn: {
            /**
             * @description The text to scan. Send text or files.
             * @example DATABASE_URL=…
             */
            text?: string;
            /** @description The files to scan. Send text or files. */
            files?: {
                /**
                 * @description How the findings name the file.
                 * @example src/config.ts
                 */
                path: string;
                /** @example DATABASE_URL=… */
                content: string;
            }[];
            /**
             * @description Whether to revoke live tokens of this organisation that are found, the calling one included. The caller needs tokens:write too. false by default.
             * @example false
             */
            revoke_live?: boolean;
        };
        Panicked: {
            /**
             * Format: date-time
             * @example 2026-11-21T12:00:00.000Z
             */
            ended_at: string;
            /** @description What was created in the last seven days, to review: the newest first, at most 1,000 of each. */
            recent: {
                /** @description Passkeys that still work. Remove those that their members do not recognise. */
                passkeys: {
                    /** @example psk_01M9xQeKcX3vTz6nWJfQ4b */
                    id: string;
                    /** @example mem_01M9xQeKcX3vTz6nWJfQ4b */
                    member_id: string;
                    /** @example Security key */
                    name: string;
                    /**
                     * Format: date-time
                     * @example 2026-11-21T12:00:00.000Z
                     */
                    created_at: string;
                }[];
                /** @description Browser sessions. This call revoked them, except the one that made it. */
                sessions: {
                    /** @example ses_01M9xQeKcX3vTz6nWJfQ4b */
                    id: string;
                    /** @example mem_01M9xQeKcX3vTz6nWJfQ4b */
                    member_id: string;
                    /** @example psk_01M9xQeKcX3vTz6nWJfQ4b */
                    passkey_id: string;
                    /**
                     * Format: date-time
                     * @example 2026-11-21T12:00:00.000Z
                     */
                    created_at: string;
                    /**
                     * Format: date-time
                     * @example 2026-11-21T12:00:00.000Z
                     */
                    last_used_at: string | null;
                    /** @example Zurich, CH (ZRH) */
                    last_used_place: string | null;
                }[];
                /** @description Enrolment links that still work. A new link for the same member replaces the old one. */
                enrolments: components["schemas"]["RecentEnrolment"][];
                /** @description Grants that are still in effect. GET /orgs/:org_id/grants shows their environments and names. */
                grants: {
                    /** @example grt_01M9xQeKcX3vTz6nWJfQ4b */
                    id: string;
                    grantee: {
                        /** @enum {string} */
                        type: "member" | "team" | "agent";
                        /** @example mem_01M9xQeKcX3vTz6nWJfQ4b */
                        id: string;
                    };
                    /** @enum {string} */
                    permission: "read" | "write";
                    created_by: string;
                    /**
                     * Format: date-time
                     * @example 2026-11-21T12:00:00.000Z
                     */
                    created_at: string;
                    /**
                     * Format: date-time
                     * @example 2026-11-21T12:00:00.000Z
                     */
                    expires_at: string | null;
                }[];
                /** @description Trusts that were created or changed. They still work, unless this call revoked all API keys: then it ended trusts too. Their session tokens have ended. */
                trusts: {
                    /** @example trs_01M9xQeKcX3vTz6nWJfQ4b */
                    id: string;
                    /** @example GitHub Actions: acme/app */
                    name: string;
                    /** @example https://token.actions.githubusercontent.com */
                    issuer: string;
                    created_by: string;
                    /**
                     * Format: date-time
                     * @example 2026-11-21T12:00:00.000Z
                     */
                    created_at: string;
                    /**
                     * Format: date-time
                     * @example 2026-11-21T12:00:00.000Z
                     */
                    updated_at: string;
                }[];
            };
            api_key?: components["schemas"]["ApiKey"] & {
                /**
                 * @description Shown only once.
                 * @example svc_live_…
                 */
                token: string | null;
            };
        };
        RecentEnrolment: {
            /** @example mem_01M9xQeKcX3vTz6nWJfQ4b */
            member_id: string;
            email: string;
            /**
             * Format: date-time
             * @example 2026-11-21T12:00:00.000Z
             */
            created_at: string;
            /**
             * Format: date-time
             * @example 2026-11-21T12:00:00.000Z
             */
            expires_at: string;
        };
        PanicIn: {
            /** @example a laptop was stolen */
            reason: string;
            /** @description Whether to revoke all API keys too. The response then holds a new API key. */
            api_keys?: boolean;
        };
        Contained: {
            /** @description The credential and all credentials that end with it, without those that had expired before. */
            revoked: {
                /** @enum {string} */
                kind: "api_key" | "session" | "agent" | "provider" | "break_glass" | "browser" | "trust";
                id: string;
                name: string | null;
            }[];
            /** @description Each version of each secret that one of them read, with the time of the first read. */
            read: {
                secret_id: string;
                /** @description The current name. null if the secret is gone or the caller may not list it. */
                name: string | null;
                version: number;
                /**
                 * Format: date-time
                 * @example 2026-11-21T12:00:00.000Z
                 */
                time: string;
            }[];
            written: {
                secret_id: string;
                /** @description The current name. null if the secret is gone or the caller may not list it. */
                name: string | null;
                version: number;
                /**
                 * Format: date-time
                 * @example 2026-11-21T12:00:00.000Z
                 */
                time: string;
                /** @example secret.update */
                action: string;
            }[];
            /** @description Secrets that one of them shared: which version by a link, null by a grant. The links have ended. */
            shared: {
                secret_id: string;
                /** @description The current name. null if the secret is gone or the caller may not list it. */
                name: string | null;
                version: number | null;
                /**
                 * Format: date-time
                 * @example 2026-11-21T12:00:00.000Z
                 */
                time: string;
            }[];
            /** @description Credentials that were created with it, directly or indirectly. */
            credentials: {
                /** @enum {string} */
                kind: "api_key" | "session" | "agent" | "provider" | "break_glass" | "browser" | "trust";
                id: string;
                name: string | null;
                /**
                 * Format: date-time
                 * @example 2026-11-21T12:00:00.000Z
                 */
                created_at: string;
            }[];
            rotated?: {
                secret_id: string;
                /** @description The current name. null if the secret is gone or the caller may not list it. */
                name: string | null;
                version: number;
            }[];
            /** @description Secrets whose values this service did not generate. Replace each of them where it was issued. */
            rotation_due?: {
                secret_id: string;
                /** @description The current name. null if the secret is gone or the caller may not list it. */
                name: string | null;
            }[];
            /** @description How many credentials are not revoked yet. Repeat the request. */
            remaining?: number;
            /** @description How many credentials the lists revoked and credentials leave out. Each list has at most 10,000 items. */
            omitted?: number;
            /** @description Ranges of audit log entries that are lost or cannot be read. This report does not include what happened in them. */
            gaps?: {
                from: number;
                to: number;
            }[];
        };
        ContainIn: {
            /**
             * Format: date-time
             * @description Start of the report. By default, the time when the credential was created.
             */
            since?: string;
            /**
             * @description Rotates the secrets that were read or written, if this service generated their current values.
             * @enum {string}
             */
            rotate?: "generated";
        };
        CredentialGraph: {
            /** @enum {string} */
            kind: "api_key" | "session" | "agent" | "provider" | "break_glass" | "browser" | "trust";
            id: string;
            name: string | null;
            parent: {
                /** @enum {string} */
                kind: "api_key" | "session" | "agent" | "provider" | "break_glass" | "browser" | "trust" | "member" | "system";
                id: string;
                name: string | null;
                /**
                 * @description dies_with: the one ends with the other. created_by: the one was created by the other and lives on without it.
                 * @enum {string}
                 */
                relation: "dies_with" | "created_by";
            };
            /** @description Live credentials, at most 1,000. */
            children: {
                /** @enum {string} */
                kind: "api_key" | "session" | "agent" | "provider" | "break_glass" | "browser" | "trust" | "member" | "system";
                id: string;
                name: string | null;
                /**
                 * @description dies_with: the one ends with the other. created_by: the one was created by the other and lives on without it.
                 * @enum {string}
                 */
                relation: "dies_with" | "created_by";
            }[];
            grants: {
                /** @enum {string} */
                source: "credential" | "role" | "grant";
                role?: string | null;
                grant_id?: string;
                grantee?: {
                    /** @enum {string} */
                    type: "member" | "team" | "agent";
                    id: string;
                };
                scopes: string[];
                environments: string[] | null;
                secrets: string[] | null;
                /**
                 * Format: date-time
                 * @example 2026-11-21T12:00:00.000Z
                 */
                expires_at: string | null;
            }[];
            reach: {
                alive: boolean;
                scopes: string[];
                /** @description How many secrets it can read or write now in each environment. */
                environments: {
                    environment: string;
                    secrets: number;
                    /**
                     * @description There are more names than one request compares with its patterns: it reaches at least so many secrets.
                     * @enum {boolean}
                     */
                    incomplete?: true;
                }[];
            };
        };
        Rewrapped: {
            /**
             * @description Keys that are wrapped by the current master key after this call.
             * @example 101
             */
            done: number;
            /**
             * @description Number of all wrapped keys.
             * @example 240
             */
            total: number;
            /**
             * @description Pass it as `cursor` in the next call. null when all keys were checked.
             * @example null
             */
            next: string | null;
        };
        /** @example {} */
        RewrapIn: {
            /** @description `next` of the previous call. Leave it out in the first call. */
            cursor?: string;
        };
        EnrolOptionsIn: {
            /**
             * @description The part of the enrolment link after #.
             * @example svcenrol_…
             */
            token: string;
        };
        SignedIn: {
            /**
             * @description A JWT for the Authorization header. It is valid for ten minutes.
             * @example eyJhbGciOiJFUzI1NiIs…
             */
            token: string;
            /**
             * Format: date-time
             * @example 2026-11-21T12:00:00.000Z
             */
            expiresAt: string;
            member: components["schemas"]["SignedInMember"];
        };
        SignedInMember: {
            /** @example mem_01M9xQeKcX3vTz6nWJfQ4b */
            id: string;
            email: string;
            /** @example Ann */
            name: string;
            /** @enum {string} */
            role: "owner" | "admin" | "developer" | "viewer" | "auditor";
            org_id: string;
        };
        EnrolIn: {
            /**
             * @description The part of the enrolment link after #.
             * @example svcenrol_…
             */
            token: string;
            response: components["schemas"]["PasskeyCreation"];
        };
        RequestOptions: {
            challenge: string;
            /** @example vault.example.com */
            rpId: string;
            timeout: number;
            /** @example required */
            userVerification: string;
            /** @example [] */
            allowCredentials: {
                id: string;
                type: string;
            }[];
        };
        LoginOptionsIn: Record<string, never>;
        LoginIn: {
            response: components["schemas"]["PasskeyAssertion"];
        };
        /** @description The result of navigator.credentials.get(), as its toJSON() returns it. */
        PasskeyAssertion: {
            /** @example AAAA */
            id: string;
            /** @example AAAA */
            rawId: string;
            /** @enum {string} */
            type: "public-key";
            authenticatorAttachment?: string | null;
            response: {
                /** @example AAAA */
                clientDataJSON: string;
                /** @example AAAA */
                authenticatorData: string;
                /** @example AAAA */
                signature: string;
                /** @example AAAA */
                userHandle?: string | null;
            };
        };
        Refreshed: components["schemas"]["SignedIn"] & {
            /**
             * @description Of a terminal session: what renews it, once.
             * @example svcref_…
             */
            refresh_token?: string;
        };
        RefreshIn: {
            /**
             * @description Of a terminal session.
             * @example svcref_…
             */
            refresh_token?: string;
        };
        BrowserSessionPage: {
            data: components["schemas"]["BrowserSession"][];
            /** @description Pass it as cursor to get the next page. null on the last page. */
            next_cursor: string | null;
            has_more: boolean;
        };
        BrowserSession: {
            /** @example ses_01M9xQeKcX3vTz6nWJfQ4b */
            id: string;
            /**
             * Format: date-time
             * @example 2026-11-21T12:00:00.000Z
             */
            created_at: string;
            /**
             * Format: date-time
             * @description When the session ends unless it is refreshed.
             * @example 2026-11-21T12:00:00.000Z
             */
            expires_at: string;
            /**
             * Format: date-time
             * @example 2026-11-21T12:00:00.000Z
             */
            last_used_at: string | null;
            /** @example Zurich, CH (ZRH) */
            last_used_place: string | null;
            /** @description Whether this session made the request. */
            current: boolean;
            /** @enum {string} */
            client: "browser" | "terminal";
            /**
             * @description Of a terminal session: what the program called itself.
             * @example svc on ann-laptop
             */
            client_name: string | null;
            /** @example psk_01M9xQeKcX3vTz6nWJfQ4b */
            passkey_id: string;
        };
        DeviceLogin: {
            /**
             * @description For polls. Keep it secret.
             * @example svcdc_…
             */
            device_code: string;
            /**
             * @description Show it to the person.
             * @example WDJB-MJHT
             */
            user_code: string;
            /** @example https://vault.example.com/device */
            verification_uri: string;
            /**
             * @description The same page, with the code filled in. The code is in the fragment, which browsers do not send.
             * @example https://vault.example.com/device#WDJB-MJHT
             */
            verification_uri_complete: string;
            /** @description Seconds until the codes expire. */
            expires_in: number;
            /** @description Seconds to wait between two polls. */
            interval: number;
        };
        DeviceLoginIn: {
            /**
             * @description What the program calls itself. The member sees it, with the address that it comes from.
             * @example svc on ann-laptop
             */
            client_name: string;
        };
        TerminalSignedIn: components["schemas"]["SignedIn"] & {
            /**
             * @description Of a terminal session: what renews it, once.
             * @example svcref_…
             */
            refresh_token: string;
        };
        DeviceTokenIn: {
            /** @example svcdc_… */
            device_code: string;
        };
        DeviceLoginRequest: {
            /** @example WDJB-MJHT */
            user_code: string;
            /**
             * @description What the program calls itself; nobody has checked it.
             * @example svc on ann-laptop
             */
            client_name: string;
            address: string;
            /** @example Zurich, CH (ZRH) */
            place: string | null;
            /** @description Whether this request comes from the same address. */
            same_address: boolean;
            /**
             * Format: date-time
             * @example 2026-11-21T12:00:00.000Z
             */
            created_at: string;
            /**
             * Format: date-time
             * @example 2026-11-21T12:00:00.000Z
             */
            expires_at: string;
        };
        UserCodeIn: {
            /**
             * @description Case, spaces and hyphens do not count.
             * @example WDJB-MJHT
             */
            user_code: string;
        };
        DeviceLoginDecided: {
            /** @enum {string} */
            status: "confirmed" | "denied";
            /**
             * @description The session of the terminal; null if denied.
             * @example ses_01M9xQeKcX3vTz6nWJfQ4b
             */
            session_id: string | null;
        };
        Trust: {
            id: string;
            name: string;
            issuer: string;
            audiences: string[];
            claims: {
                [key: string]: components["schemas"]["TrustClaimsValue"];
            };
            scopes: string[];
            /** @description Slugs of its environments. null means all. */
            environments: string[] | null;
            /** @description Patterns of the secret names that it can access. null means all. */
            secrets: string[] | null;
            /** @description IP addresses and ranges. null means any address. */
            allowed_addresses: string[] | null;
            /** @example 3600 */
            ttlSeconds: number;
            /** @description The keys that were given. null if they are fetched from the issuer. */
            jwks: {
                keys: {
                    [key: string]: unknown;
                }[];
            } | null;
            /** @description Id of the credential or member that created it, or that last made it accept other tokens. */
            created_by: string;
            /** @description The credential that it ends with. null if it does not end with another. */
            parent_id: string | null;
            /**
             * Format: date-time
             * @example 2026-11-21T12:00:00.000Z
             */
            created_at: string;
            /**
             * Format: date-time
             * @description When it was last changed, except for its name.
             * @example 2026-11-21T12:00:00.000Z
             */
            updated_at: string;
            /**
             * Format: date-time
             * @example 2026-11-21T12:00:00.000Z
             */
            expires_at: string | null;
            /**
             * Format: date-time
             * @example 2026-11-21T12:00:00.000Z
             */
            last_used_at: string | null;
            /**
             * @description Number of requests made with its session tokens, exchanges included.
             * @example 12
             */
            use_count: number;
            /** @example Zurich, CH (ZRH) */
            last_used_place: string | null;
        };
        TrustIn: {
            /** @example GitHub Actions: acme/app */
            name: string;
            /**
             * @description The iss claim of accepted tokens, exactly as the issuer spells it.
             * @example https://token.actions.githubusercontent.com
             */
            issuer: string;
            /**
             * @description The token must contain one of them in its aud claim. By default, the PUBLIC_URL of this deployment.
             * @example [
             *       "https://vault.example.com"
             *     ]
             */
            audiences?: string[];
            /**
             * @description Claims of accepted tokens, each with a glob pattern or a list of them. * is any run of characters, ? is one. Every claim must match. sub, or another claim that names the workload, is required.
             * @example {
             *       "sub": "repo:acme/app:ref:refs/heads/main"
             *     }
             */
            claims: {
                [key: string]: components["schemas"]["TrustClaimsValueChoice"];
            };
            /**
             * @example [
             *       "secrets:read"
             *     ]
             */
            scopes: string[];
            /** @description Environments by id or slug. By default, those of its creator. */
            environments?: string[];
            /**
             * @description Secret names as glob patterns (* and ?). By default, those of its creator.
             * @example [
             *       "app/*"
             *     ]
             */
            secrets?: string[];
            /**
             * @example [
             *       "203.0.113.0/24"
             *     ]
             */
            allowed_addresses?: string[];
            /**
             * @description Lifetime of its session tokens in seconds, 3600 by default.
             * @example 3600
             */
            ttlSeconds?: number;
            /**
             * @description Public keys of the issuer, for an issuer that is not on the public Internet. Without it the keys are fetched from the discovery document of the issuer.
             * @example {
             *       "keys": [
             *         {
             *           "kty": "OKP",
             *           "crv": "Ed25519",
             *           "kid": "cluster-1",
             *           "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"
             *         }
             *       ]
             *     }
             */
            jwks?: {
                keys: {
                    kty: string;
                    kid?: string;
                    alg?: string;
                    use?: string;
                    key_ops?: string[];
                    crv?: string;
                    x?: string;
                    y?: string;
                    n?: string;
                    e?: string;
                    d?: string;
                    p?: string;
                    q?: string;
                    dp?: string;
                    dq?: string;
                    qi?: string;
                    k?: string;
                    oth?: string[];
                }[];
            };
        };
        TrustPage: {
            data: components["schemas"]["Trust"][];
            /** @description Pass it as cursor to get the next page. null on the last page. */
            next_cursor: string | null;
            has_more: boolean;
        };
        TrustPatch: {
            name?: string;
            /**
             * @description The iss claim of accepted tokens, exactly as the issuer spells it.
             * @example https://token.actions.githubusercontent.com
             */
            issuer?: string;
            /**
             * @description The token must contain one of them in its aud claim. By default, the PUBLIC_URL of this deployment.
             * @example [
             *       "https://vault.example.com"
             *     ]
             */
            audiences?: string[];
            /**
             * @description Claims of accepted tokens, each with a glob pattern or a list of them. * is any run of characters, ? is one. Every claim must match. sub, or another claim that names the workload, is required.
             * @example {
             *       "sub": "repo:acme/app:ref:refs/heads/main"
             *     }
             */
            claims?: {
                [key: string]: components["schemas"]["TrustClaimsValueChoice"];
            };
            /**
             * @example [
             *       "secrets:read"
             *     ]
             */
            scopes?: string[];
            environments?: string[] | null;
            /**
             * @example [
             *       "app/*"
             *     ]
             */
            secrets?: string[] | null;
            /**
             * @example [
             *       "203.0.113.0/24"
             *     ]
             */
            allowed_addresses?: string[] | null;
            /**
             * @description Lifetime of its session tokens in seconds, 3600 by default.
             * @example 3600
             */
            ttlSeconds?: number;
            /**
             * @description null removes the keys: from then on they are fetched from the issuer.
             * @example {
             *       "keys": [
             *         {
             *           "kty": "OKP",
             *           "crv": "Ed25519",
             *           "kid": "cluster-1",
             *           "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"
             *         }
             *       ]
             *     }
             */
            jwks?: {
                keys: {
                    kty: string;
                    kid?: string;
                    alg?: string;
                    use?: string;
                    key_ops?: string[];
                    crv?: string;
                    x?: string;
                    y?: string;
                    n?: string;
                    e?: string;
                    d?: string;
                    p?: string;
                    q?: string;
                    dp?: string;
                    dq?: string;
                    qi?: string;
                    k?: string;
                    oth?: string[];
                }[];
            } | null;
        };
        Exchanged: {
            /**
             * @description A session token, shown only once.
             * @example svcsess_…
             */
            token: string;
            /**
             * Format: date-time
             * @example 2026-11-21T12:00:00.000Z
             */
            expiresAt: string;
            id: string;
        };
        ExchangeIn: {
            /** @example org_01M9xQeKcX3vTz6nWJfQ4b */
            org_id: string;
            /** @example trs_01M9xQeKcX3vTz6nWJfQ4b */
            trust_id: string;
            /**
             * @description The OIDC token of the platform, a JWT.
             * @example eyJhbGciOiJSUzI1NiIs…
             */
            token: string;
        };
        /** @description The body of every error response. */
        Error: {
            error: {
                /**
                 * @description Identifies the error. Codes never change: use them in programs.
                 * @enum {string}
                 */
                code: "MALFORMED_JSON" | "VALIDATION_FAILED" | "INVALID_CURSOR" | "AUTHORIZATION_PENDING" | "SLOW_DOWN" | "ACCESS_DENIED" | "CODE_EXPIRED" | "UNAUTHENTICATED" | "TOKEN_EXPIRED" | "DEVICE_PROOF_REQUIRED" | "DEVICE_PROOF_INVALID" | "TOKEN_REVOKED" | "INSUFFICIENT_SCOPE" | "SECRET_ACCESS_DENIED" | "SCOPE_EXCEEDS_PARENT" | "CREDENTIAL_KIND_NOT_ALLOWED" | "APPROVAL_REQUIRED" | "PASSPHRASE_WRONG" | "ADDRESS_NOT_ALLOWED" | "REAUTHENTICATION_REQUIRED" | "NOT_FOUND" | "METHOD_NOT_ALLOWED" | "SECRET_EXPIRED" | "SECRET_REVOKED" | "ENROLMENT_GONE" | "SHARE_GONE" | "EVENTS_GONE" | "EMAIL_TAKEN" | "SYNC_ENDED" | "IMPORT_CONFLICT" | "LAST_OWNER" | "LAST_PASSKEY" | "ORIGIN_NOT_ALLOWED" | "SECRET_NAME_TAKEN" | "IDEMPOTENCY_IN_PROGRESS" | "SLUG_TAKEN" | "ENVIRONMENT_NOT_EMPTY" | "ENVIRONMENT_IS_DEFAULT" | "LIMIT_REACHED" | "CONFLICT" | "APPROVAL_MISMATCH" | "VERSION_CONFLICT" | "PAYLOAD_TOO_LARGE" | "UNSUPPORTED_MEDIA_TYPE" | "IDEMPOTENCY_KEY_REUSED" | "POLICY_VIOLATED" | "APPROVAL_IMPOSSIBLE" | "VALUE_NOT_REPRESENTABLE" | "NAME_NOT_REPRESENTABLE" | "NAME_COLLISION" | "IMPORT_UNREADABLE" | "RESULT_TOO_LARGE" | "RATE_LIMITED" | "INTERNAL" | "TARGET_REJECTED" | "TARGET_UNREACHABLE" | "UNAVAILABLE" | "OVERLOADED" | "MISCONFIGURED";
                /** @description Describes the error for people. It may change. */
                message: string;
                /**
                 * Format: uri
                 * @description Address of the page about this code.
                 */
                docs: string;
                /** @description What is wrong with the request, by field. */
                details?: {
                    /** @description Path of the field, such as owner.email or scopes.0. */
                    path: string;
                    /** @description What is expected of the field. */
                    message: string;
                }[];
                /** @description With APPROVAL_REQUIRED: the approval that the request waits for. */
                approval?: {
                    id: string;
                    /** @enum {string} */
                    status: "pending" | "approved";
                    operation: string;
                    required: number;
                    approvals: {
                        [key: string]: unknown;
                    }[];
                    /** Format: date-time */
                    expires_at: string;
                };
                /** @description After how many seconds to repeat the request. */
                retry_after?: number;
            };
        };
        /**
         * @example {
         *       "pattern": "^[A-Z][A-Z0-9_]*$"
         *     }
         */
        PolicyConfig: components["schemas"]["NamingConfig"] | components["schemas"]["RotationConfig"] | components["schemas"]["ApprovalConfig"];
        ApprovalConfigApproversChoice1: {
            team_id: string;
        };
        ApprovalConfigApproversChoice2: {
            /** @enum {string} */
            role: "owner" | "admin" | "developer" | "viewer" | "auditor";
        };
        /**
         * @description Whose members approve: a team, or a role.
         * @example {
         *       "role": "admin"
         *     }
         */
        ApprovalConfigApprovers: components["schemas"]["ApprovalConfigApproversChoice1"] | components["schemas"]["ApprovalConfigApproversChoice2"];
        PolicyInNaming: {
            name: string;
            /** @description true by default. */
            enabled?: boolean;
            /** @description To which secrets the policy applies. What is left out, or null, bounds nothing. */
            applies_to?: {
                /** @description Environments by id or slug. */
                environments?: string[] | null;
                types?: ("api_key" | "password" | "database_url" | "certificate" | "private_key" | "ssh_key" | "oauth_token" | "webhook_secret" | "env_var" | "json" | "generic")[] | null;
                /**
                 * @description Secret names as glob patterns (* and ?).
                 * @example [
                 *       "app/*"
                 *     ]
                 */
                names?: string[] | null;
            };
            /** @enum {string} */
            kind: "naming";
            config: components["schemas"]["NamingConfig"];
        };
        PolicyInRotation: {
            name: string;
            /** @description true by default. */
            enabled?: boolean;
            /** @description To which secrets the policy applies. What is left out, or null, bounds nothing. */
            applies_to?: {
                /** @description Environments by id or slug. */
                environments?: string[] | null;
                types?: ("api_key" | "password" | "database_url" | "certificate" | "private_key" | "ssh_key" | "oauth_token" | "webhook_secret" | "env_var" | "json" | "generic")[] | null;
                /**
                 * @description Secret names as glob patterns (* and ?).
                 * @example [
                 *       "app/*"
                 *     ]
                 */
                names?: string[] | null;
            };
            /** @enum {string} */
            kind: "rotation";
            config: components["schemas"]["RotationConfig"];
        };
        PolicyInApproval: {
            name: string;
            /** @description true by default. */
            enabled?: boolean;
            /** @description To which secrets the policy applies. What is left out, or null, bounds nothing. */
            applies_to?: {
                /** @description Environments by id or slug. */
                environments?: string[] | null;
                types?: ("api_key" | "password" | "database_url" | "certificate" | "private_key" | "ssh_key" | "oauth_token" | "webhook_secret" | "env_var" | "json" | "generic")[] | null;
                /**
                 * @description Secret names as glob patterns (* and ?).
                 * @example [
                 *       "app/*"
                 *     ]
                 */
                names?: string[] | null;
            };
            /** @enum {string} */
            kind: "approval";
            config: components["schemas"]["ApprovalConfig"];
        };
        AuditExportLineChoice2: {
            checkpoint: components["schemas"]["Checkpoint"];
        };
        /**
         * @example [
         *       "SECRET_ROTATED"
         *     ]
         */
        WebhookEvents: "*" | string[];
        /** @enum {string} */
        WebhookEventsItem: "*" | "CREDENTIAL_CREATED" | "CREDENTIAL_REVOKED" | "BREAK_GLASS_ISSUED" | "BREAK_GLASS_USED" | "MEMBER_ENROLLED" | "ENROLMENT_CREATED" | "ORG_RECOVERED" | "SECRET_ROTATION_DUE" | "SECRET_ROTATED" | "POLICY_VIOLATED" | "APPROVAL_REQUESTED" | "APPROVAL_DECIDED" | "DEVICE_REGISTERED" | "DEVICE_ASSIGNED" | "DEVICE_UNASSIGNED" | "DEVICE_BLOCKED" | "DEVICE_REMOVED" | "AUDIT_CHECKPOINT" | "SECRET_CREATED" | "SECRET_UPDATED" | "SECRET_DELETED" | "SECRET_RESTORED" | "SECRET_SHARED" | "SECRET_REVOKED" | "SECRET_EXPIRING" | "SECRET_EXPIRED" | "SECRET_LEAKED" | "CREDENTIAL_EXPIRING" | "WEBHOOK_DISABLED" | "SYNC_COMPLETED" | "SYNC_FAILED";
        /**
         * @description Kinds of events, or `*` for all, later ones included.
         * @example [
         *       "SECRET_ROTATED",
         *       "SECRET_DELETED"
         *     ]
         */
        WebhookEventsChoice: "*" | components["schemas"]["WebhookEventsItem"][];
        NotifyConfigValueChoice5: {
            [key: string]: string;
        };
        NotifyConfigValue: string | number | boolean | (string | number)[] | components["schemas"]["NotifyConfigValueChoice5"];
        /** @enum {string} */
        IntegrationEventsItem: "SECRET_LEAKED" | "BREAK_GLASS_ISSUED" | "BREAK_GLASS_USED" | "ORG_RECOVERED" | "SYNC_FAILED" | "WEBHOOK_DISABLED" | "POLICY_VIOLATED" | "SECRET_EXPIRING" | "CREDENTIAL_EXPIRING" | "SECRET_EXPIRED" | "SECRET_REVOKED" | "SECRET_ROTATION_DUE" | "CREDENTIAL_REVOKED" | "DEVICE_BLOCKED" | "ENROLMENT_CREATED" | "SECRET_CREATED" | "SECRET_UPDATED" | "SECRET_ROTATED" | "SECRET_DELETED" | "SECRET_RESTORED" | "SECRET_SHARED" | "DEVICE_REGISTERED" | "DEVICE_ASSIGNED" | "DEVICE_UNASSIGNED" | "DEVICE_REMOVED" | "APPROVAL_REQUESTED" | "APPROVAL_DECIDED" | "MEMBER_ENROLLED" | "CREDENTIAL_CREATED" | "SYNC_COMPLETED" | "AUDIT_CHECKPOINT";
        /**
         * @description Of kind notify.
         * @example [
         *       "SECRET_ROTATED",
         *       "SECRET_LEAKED"
         *     ]
         */
        IntegrationEvents: "*" | components["schemas"]["IntegrationEventsItem"][];
        IntegrationInSync: {
            /**
             * @description Secrets are written there.
             * @enum {string}
             */
            kind: "sync";
            /**
             * @example heroku
             * @enum {string}
             */
            platform: "vercel" | "netlify" | "heroku" | "fly" | "render" | "railway" | "cloudflare-workers" | "cloudflare-pages" | "digitalocean" | "supabase" | "github-actions" | "gitlab-ci" | "circleci" | "bitbucket-pipelines" | "buildkite" | "hcp-terraform" | "aws-secrets-manager" | "aws-ssm" | "gcp-secret-manager" | "azure-key-vault" | "kubernetes";
            /** @example Operations channel */
            name: string;
            /**
             * @description What the platform needs, by the schema that GET /integrations/platforms shows for it. Credentials in it are never returned.
             * @example {
             *       "webhookUrl": "https://hooks.slack.com/services/T000/B000/XXXX"
             *     }
             */
            config: {
                [key: string]: components["schemas"]["NotifyConfigValue"];
            };
            /**
             * @description Of kind sync: ids or slugs of the environments that it may be run on, and no others. By default those that its maker may read.
             * @example [
             *       "production"
             *     ]
             */
            environments?: string[];
            /**
             * @description Of kind sync: sync an environment a few seconds after a secret there has changed. false by default.
             * @example false
             */
            auto?: boolean;
            /**
             * @description Of kind sync: whether automatic syncs prune. false by default.
             * @example false
             */
            prune?: boolean;
        };
        IntegrationInNotify: {
            /**
             * @description Messages are sent there.
             * @enum {string}
             */
            kind: "notify";
            /**
             * @example slack
             * @enum {string}
             */
            platform: "slack" | "microsoft-teams" | "discord" | "google-chat" | "mattermost" | "telegram" | "pagerduty" | "opsgenie" | "webhook" | "email";
            /** @example Operations channel */
            name: string;
            /**
             * @description What the platform needs, by the schema that GET /integrations/platforms shows for it. Credentials in it are never returned.
             * @example {
             *       "webhookUrl": "https://hooks.slack.com/services/T000/B000/XXXX"
             *     }
             */
            config: {
                [key: string]: components["schemas"]["NotifyConfigValue"];
            };
            /**
             * @description Kinds of events to send messages about, or "*" for all. By default SECRET_ROTATED and SECRET_LEAKED, and POLICY_VIOLATED except for pagerduty and opsgenie.
             * @example [
             *       "SECRET_ROTATED",
             *       "SECRET_LEAKED"
             *     ]
             */
            events?: components["schemas"]["IntegrationEvents"];
        };
        IntegrationConfigValue: string | number | boolean | (string | number)[] | components["schemas"]["NotifyConfigValueChoice5"] | null;
        NewShareChoice1: {
            /** @example shr_01M9xQeKcX3vTz6nWJfQ4b */
            id: string;
            /** @description Address of the page that shows the value. Shown only once. */
            url: string | null;
            /**
             * Format: date-time
             * @example 2026-11-21T12:00:00.000Z
             */
            expires_at: string;
        };
        NewShareGrant: {
            /** @example grt_01M9xQeKcX3vTz6nWJfQ4b */
            id: string;
            /** @enum {string} */
            kind: "grant";
            grantee: {
                /** @enum {string} */
                type: "member" | "team" | "agent";
                /** @example mem_01M9xQeKcX3vTz6nWJfQ4b */
                id: string;
            };
            /**
             * @description As in POST /orgs/:org_id/grants.
             * @enum {string}
             */
            permission: "read" | "write";
            created_by: string;
            /**
             * Format: date-time
             * @example 2026-11-21T12:00:00.000Z
             */
            created_at: string;
            /**
             * Format: date-time
             * @example 2026-11-21T12:00:00.000Z
             */
            expires_at: string | null;
        };
        ShareInLink: {
            /** @enum {string} */
            kind: "link";
            /**
             * @description Lifetime in seconds.
             * @example 3600
             */
            expires_in: number;
            /**
             * @description How often the value can be viewed.
             * @example 1
             */
            max_views: number;
            /** @description Asked for before the value is shown. Send it by another way than the link. */
            passphrase?: string;
        };
        ShareInGrant: {
            /** @enum {string} */
            kind: "grant";
            grantee: {
                /** @enum {string} */
                type: "member" | "team" | "agent";
                /** @example mem_01M9xQeKcX3vTz6nWJfQ4b */
                id: string;
            };
            /**
             * @description As in POST /orgs/:org_id/grants.
             * @enum {string}
             */
            permission: "read" | "write";
            /**
             * Format: date-time
             * @example 2027-11-21T12:00:00.000Z
             */
            expires_at?: string;
        };
        ShareLink: {
            /** @example shr_01M9xQeKcX3vTz6nWJfQ4b */
            id: string;
            /** @enum {string} */
            kind: "link";
            /** @description The version that it shows. */
            version: number;
            max_views: number;
            views: number;
            /** @description Whether it asks for a passphrase. */
            passphrase: boolean;
            /** @description The credential or member that made it. The link ends with it. */
            created_by: string;
            /**
             * Format: date-time
             * @example 2026-11-21T12:00:00.000Z
             */
            created_at: string;
            /**
             * Format: date-time
             * @example 2026-11-21T12:00:00.000Z
             */
            expires_at: string;
        };
        TrustClaimsValue: string | string[];
        TrustClaimsValueChoice: string | string[];
    };
    responses: {
        /** @description A refusal. */
        Refused: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
    };
    parameters: {
        /** @description Makes the request safe to repeat. */
        IdempotencyKey: string;
        /** @description The reason for the request, stored in its audit log entry. */
        AccessReason: string;
        /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
        DPoP: string;
        /** @description The approval of this very request, where a policy required one: same method, path, query, body and credential. */
        ApprovalId: string;
        /** @description The ETag of the copy that you have. */
        IfNoneMatch: string;
        /** @description The ETag of the resource when you read it. */
        IfMatch: string;
        /** @description The id of the last event that the client received: the stream goes on behind it. */
        LastEventId: string;
    };
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    org_list: {
        parameters: {
            query?: {
                /**
                 * @description How many items to return, 50 by default.
                 * @example 50
                 */
                limit?: number;
                /**
                 * @description next_cursor of the previous page.
                 * @example eyJ2IjoxfQ.kR2vT9
                 */
                cursor?: string;
            };
            header?: {
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OrgPage"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    org_create: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes the request safe to repeat. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
            };
            path?: never;
            cookie?: never;
        };
        /** @description A JSON object of at most 1 MiB. */
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "Acme",
                 *       "owner": {
                 *         "email": "ann@example.com",
                 *         "name": "Ann"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["OrgIn"];
            };
        };
        responses: {
            /** @description Created. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Founded"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    org_recover: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes the request safe to repeat. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
            };
            cookie?: never;
        };
        /** @description A JSON object of at most 1 MiB. */
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "reason": "the only key was lost with a laptop"
                 *     }
                 */
                "application/json": components["schemas"]["Recovery"];
            };
        };
        responses: {
            /** @description Created. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Recovered"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    org_adopt: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes the request safe to repeat. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
            };
            cookie?: never;
        };
        /** @description A JSON object of at most 1 MiB. */
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "reason": "the only key was lost with a laptop"
                 *     }
                 */
                "application/json": components["schemas"]["Adoption"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Adopted"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    org_read: {
        parameters: {
            query?: never;
            header?: {
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OrgWithUsage"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    org_delete: {
        parameters: {
            query?: never;
            header?: {
                /** @description The approval of this very request, where a policy required one: same method, path, query, body and credential. */
                "Approval-Id"?: components["parameters"]["ApprovalId"];
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
            };
            cookie?: never;
        };
        /** @description A JSON object of at most 1 MiB. */
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "confirm": "Acme"
                 *     }
                 */
                "application/json": components["schemas"]["OrgDelete"];
            };
        };
        responses: {
            /** @description Success, without a body. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Refused"];
        };
    };
    org_update: {
        parameters: {
            query?: never;
            header?: {
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
            };
            cookie?: never;
        };
        /** @description A JSON object of at most 1 MiB. */
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "Acme"
                 *     }
                 */
                "application/json": components["schemas"]["OrgPatch"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OrgWithUsage"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    environment_list: {
        parameters: {
            query?: {
                /**
                 * @description How many items to return, 50 by default.
                 * @example 50
                 */
                limit?: number;
                /**
                 * @description next_cursor of the previous page.
                 * @example eyJ2IjoxfQ.kR2vT9
                 */
                cursor?: string;
            };
            header?: {
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EnvironmentPage"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    environment_create: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes the request safe to repeat. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
            };
            cookie?: never;
        };
        /** @description A JSON object of at most 1 MiB. */
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "QA"
                 *     }
                 */
                "application/json": components["schemas"]["EnvironmentIn"];
            };
        };
        responses: {
            /** @description Created. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Environment"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    environment_read: {
        parameters: {
            query?: never;
            header?: {
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
                /**
                 * @description Id or slug of the environment.
                 * @example env_01M9xQeKcX3vTz6nWJfQ4b
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Environment"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    environment_delete: {
        parameters: {
            query?: never;
            header?: {
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
                /**
                 * @description Id or slug of the environment.
                 * @example env_01M9xQeKcX3vTz6nWJfQ4b
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success, without a body. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Refused"];
        };
    };
    environment_update: {
        parameters: {
            query?: never;
            header?: {
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
                /**
                 * @description Id or slug of the environment.
                 * @example env_01M9xQeKcX3vTz6nWJfQ4b
                 */
                id: string;
            };
            cookie?: never;
        };
        /** @description A JSON object of at most 1 MiB. */
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "Quality assurance"
                 *     }
                 */
                "application/json": components["schemas"]["EnvironmentPatch"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Environment"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    role_list: {
        parameters: {
            query?: never;
            header?: {
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Roles"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    member_list: {
        parameters: {
            query?: {
                /**
                 * @description How many items to return, 50 by default.
                 * @example 50
                 */
                limit?: number;
                /**
                 * @description next_cursor of the previous page.
                 * @example eyJ2IjoxfQ.kR2vT9
                 */
                cursor?: string;
                /**
                 * @description Only members with this status.
                 * @example active
                 */
                status?: "invited" | "active" | "lapsed";
            };
            header?: {
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MemberPage"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    member_create: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes the request safe to repeat. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /** @description The approval of this very request, where a policy required one: same method, path, query, body and credential. */
                "Approval-Id"?: components["parameters"]["ApprovalId"];
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
            };
            cookie?: never;
        };
        /** @description A JSON object of at most 1 MiB. */
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "email": "ann@example.com",
                 *       "name": "Ann",
                 *       "role": "developer"
                 *     }
                 */
                "application/json": components["schemas"]["MemberIn"];
            };
        };
        responses: {
            /** @description Created. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NewMember"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    member_read: {
        parameters: {
            query?: never;
            header?: {
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
                /**
                 * @description Id of the member.
                 * @example mem_01M9xQeKcX3vTz6nWJfQ4b
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Member"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    member_delete: {
        parameters: {
            query?: {
                /**
                 * @description Whether to revoke the credentials that the member created too.
                 * @example true
                 */
                revoke_credentials?: "true" | "false";
            };
            header?: {
                /** @description The approval of this very request, where a policy required one: same method, path, query, body and credential. */
                "Approval-Id"?: components["parameters"]["ApprovalId"];
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
                /**
                 * @description Id of the member.
                 * @example mem_01M9xQeKcX3vTz6nWJfQ4b
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Removed"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    member_update: {
        parameters: {
            query?: never;
            header?: {
                /** @description The approval of this very request, where a policy required one: same method, path, query, body and credential. */
                "Approval-Id"?: components["parameters"]["ApprovalId"];
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
                /**
                 * @description Id of the member.
                 * @example mem_01M9xQeKcX3vTz6nWJfQ4b
                 */
                id: string;
            };
            cookie?: never;
        };
        /** @description A JSON object of at most 1 MiB. */
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "email": "ann@example.com"
                 *     }
                 */
                "application/json": components["schemas"]["MemberPatch"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Member"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    member_enrol: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes the request safe to repeat. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /** @description The approval of this very request, where a policy required one: same method, path, query, body and credential. */
                "Approval-Id"?: components["parameters"]["ApprovalId"];
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
                /**
                 * @description Id of the member.
                 * @example mem_01M9xQeKcX3vTz6nWJfQ4b
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Created. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NewMember"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    member_access: {
        parameters: {
            query: {
                /**
                 * @description The scope to check.
                 * @example secrets:read
                 */
                action: string;
                /**
                 * @description Id or slug of the environment to check.
                 * @example production
                 */
                environment?: string;
                /**
                 * @description The name of a secret. It is looked up in the default environment unless environment is sent.
                 * @example DATABASE_URL
                 */
                secret?: string;
            };
            header?: {
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
                /**
                 * @description Id of the member.
                 * @example mem_01M9xQeKcX3vTz6nWJfQ4b
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Access"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    passkey_list: {
        parameters: {
            query?: {
                /**
                 * @description How many items to return, 50 by default.
                 * @example 50
                 */
                limit?: number;
                /**
                 * @description next_cursor of the previous page.
                 * @example eyJ2IjoxfQ.kR2vT9
                 */
                cursor?: string;
            };
            header?: {
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
                /**
                 * @description Id of the member.
                 * @example mem_01M9xQeKcX3vTz6nWJfQ4b
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PasskeyPage"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    passkey_create: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes the request safe to repeat. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
                /**
                 * @description Id of the member.
                 * @example mem_01M9xQeKcX3vTz6nWJfQ4b
                 */
                id: string;
            };
            cookie?: never;
        };
        /** @description A JSON object of at most 1 MiB. */
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "response": {
                 *         "id": "AAAA",
                 *         "rawId": "AAAA",
                 *         "type": "public-key",
                 *         "response": {
                 *           "clientDataJSON": "AAAA",
                 *           "attestationObject": "AAAA"
                 *         }
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["PasskeyIn"];
            };
        };
        responses: {
            /** @description Created. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Passkey"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    passkey_options: {
        parameters: {
            query?: never;
            header?: {
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
                /**
                 * @description Id of the member.
                 * @example mem_01M9xQeKcX3vTz6nWJfQ4b
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CreationOptions"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    passkey_delete: {
        parameters: {
            query?: never;
            header?: {
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
                /**
                 * @description Id of the member.
                 * @example mem_01M9xQeKcX3vTz6nWJfQ4b
                 */
                id: string;
                /**
                 * @description Id of the passkey.
                 * @example psk_01M9xQeKcX3vTz6nWJfQ4b
                 */
                passkey_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success, without a body. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Refused"];
        };
    };
    passkey_update: {
        parameters: {
            query?: never;
            header?: {
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
                /**
                 * @description Id of the member.
                 * @example mem_01M9xQeKcX3vTz6nWJfQ4b
                 */
                id: string;
                /**
                 * @description Id of the passkey.
                 * @example psk_01M9xQeKcX3vTz6nWJfQ4b
                 */
                passkey_id: string;
            };
            cookie?: never;
        };
        /** @description A JSON object of at most 1 MiB. */
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "Laptop"
                 *     }
                 */
                "application/json": components["schemas"]["PasskeyPatch"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Passkey"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    team_list: {
        parameters: {
            query?: {
                /**
                 * @description How many items to return, 50 by default.
                 * @example 50
                 */
                limit?: number;
                /**
                 * @description next_cursor of the previous page.
                 * @example eyJ2IjoxfQ.kR2vT9
                 */
                cursor?: string;
            };
            header?: {
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TeamPage"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    team_create: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes the request safe to repeat. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
            };
            cookie?: never;
        };
        /** @description A JSON object of at most 1 MiB. */
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "Payments"
                 *     }
                 */
                "application/json": components["schemas"]["TeamIn"];
            };
        };
        responses: {
            /** @description Created. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Team"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    team_read: {
        parameters: {
            query?: never;
            header?: {
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
                /**
                 * @description Id of the team.
                 * @example team_01M9xQeKcX3vTz6nWJfQ4b
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Team"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    team_delete: {
        parameters: {
            query?: never;
            header?: {
                /** @description The approval of this very request, where a policy required one: same method, path, query, body and credential. */
                "Approval-Id"?: components["parameters"]["ApprovalId"];
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
                /**
                 * @description Id of the team.
                 * @example team_01M9xQeKcX3vTz6nWJfQ4b
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success, without a body. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Refused"];
        };
    };
    team_update: {
        parameters: {
            query?: never;
            header?: {
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
                /**
                 * @description Id of the team.
                 * @example team_01M9xQeKcX3vTz6nWJfQ4b
                 */
                id: string;
            };
            cookie?: never;
        };
        /** @description A JSON object of at most 1 MiB. */
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "Payments"
                 *     }
                 */
                "application/json": components["schemas"]["TeamIn"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Team"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    team_member_list: {
        parameters: {
            query?: {
                /**
                 * @description How many items to return, 50 by default.
                 * @example 50
                 */
                limit?: number;
                /**
                 * @description next_cursor of the previous page.
                 * @example eyJ2IjoxfQ.kR2vT9
                 */
                cursor?: string;
            };
            header?: {
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
                /**
                 * @description Id of the team.
                 * @example team_01M9xQeKcX3vTz6nWJfQ4b
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TeamMemberPage"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    team_member_add: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes the request safe to repeat. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /** @description The approval of this very request, where a policy required one: same method, path, query, body and credential. */
                "Approval-Id"?: components["parameters"]["ApprovalId"];
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
                /**
                 * @description Id of the team.
                 * @example team_01M9xQeKcX3vTz6nWJfQ4b
                 */
                id: string;
            };
            cookie?: never;
        };
        /** @description A JSON object of at most 1 MiB. */
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "member_id": "mem_01M9xQeKcX3vTz6nWJfQ4b"
                 *     }
                 */
                "application/json": components["schemas"]["TeamMemberIn"];
            };
        };
        responses: {
            /** @description Created. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TeamMember"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    team_member_remove: {
        parameters: {
            query?: never;
            header?: {
                /** @description The approval of this very request, where a policy required one: same method, path, query, body and credential. */
                "Approval-Id"?: components["parameters"]["ApprovalId"];
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
                /**
                 * @description Id of the team.
                 * @example team_01M9xQeKcX3vTz6nWJfQ4b
                 */
                id: string;
                /**
                 * @description Id of the member.
                 * @example mem_01M9xQeKcX3vTz6nWJfQ4b
                 */
                member_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success, without a body. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Refused"];
        };
    };
    grant_list: {
        parameters: {
            query?: {
                /**
                 * @description How many items to return, 50 by default.
                 * @example 50
                 */
                limit?: number;
                /**
                 * @description next_cursor of the previous page.
                 * @example eyJ2IjoxfQ.kR2vT9
                 */
                cursor?: string;
                /**
                 * @description Only the grants of this member or team.
                 * @example mem_01M9xQeKcX3vTz6nWJfQ4b
                 */
                grantee?: string;
            };
            header?: {
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GrantPage"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    grant_create: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes the request safe to repeat. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /** @description The approval of this very request, where a policy required one: same method, path, query, body and credential. */
                "Approval-Id"?: components["parameters"]["ApprovalId"];
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
            };
            cookie?: never;
        };
        /** @description A JSON object of at most 1 MiB. */
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "grantee": {
                 *         "type": "team",
                 *         "id": "team_01M9xQeKcX3vTz6nWJfQ4b"
                 *       },
                 *       "permission": "read"
                 *     }
                 */
                "application/json": components["schemas"]["GrantIn"];
            };
        };
        responses: {
            /** @description Created. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Grant"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    grant_read: {
        parameters: {
            query?: never;
            header?: {
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
                /**
                 * @description Id of the grant.
                 * @example grt_01M9xQeKcX3vTz6nWJfQ4b
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Grant"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    grant_delete: {
        parameters: {
            query?: never;
            header?: {
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
                /**
                 * @description Id of the grant.
                 * @example grt_01M9xQeKcX3vTz6nWJfQ4b
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success, without a body. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Refused"];
        };
    };
    caller_read: {
        parameters: {
            query?: never;
            header?: {
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WhoAmI"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    api_key_list: {
        parameters: {
            query?: {
                /**
                 * @description How many items to return, 50 by default.
                 * @example 50
                 */
                limit?: number;
                /**
                 * @description next_cursor of the previous page.
                 * @example eyJ2IjoxfQ.kR2vT9
                 */
                cursor?: string;
            };
            header?: {
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ApiKeyPage"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    api_key_create: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes the request safe to repeat. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
            };
            cookie?: never;
        };
        /** @description A JSON object of at most 1 MiB. */
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "deploy",
                 *       "scopes": [
                 *         "secrets:read"
                 *       ]
                 *     }
                 */
                "application/json": components["schemas"]["ApiKeyIn"];
            };
        };
        responses: {
            /** @description Created. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NewApiKey"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    api_key_read: {
        parameters: {
            query?: never;
            header?: {
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
                /**
                 * @description Id of the API key.
                 * @example key_01M9xQeKcX3vTz6nWJfQ4b
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ApiKey"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    api_key_revoke: {
        parameters: {
            query?: never;
            header?: {
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
                /**
                 * @description Id of the API key.
                 * @example key_01M9xQeKcX3vTz6nWJfQ4b
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success, without a body. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Refused"];
        };
    };
    api_key_update: {
        parameters: {
            query?: never;
            header?: {
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
                /**
                 * @description Id of the API key.
                 * @example key_01M9xQeKcX3vTz6nWJfQ4b
                 */
                id: string;
            };
            cookie?: never;
        };
        /** @description A JSON object of at most 1 MiB. */
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "deploy"
                 *     }
                 */
                "application/json": components["schemas"]["ApiKeyPatch"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ApiKey"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    api_key_rotate: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes the request safe to repeat. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
                /**
                 * @description Id of the API key.
                 * @example key_01M9xQeKcX3vTz6nWJfQ4b
                 */
                id: string;
            };
            cookie?: never;
        };
        /** @description A JSON object of at most 1 MiB, or no body. */
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "overlap_seconds": 3600
                 *     }
                 */
                "application/json": components["schemas"]["ApiKeyRotate"];
            };
        };
        responses: {
            /** @description Created. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NewApiKey"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    access_token_list: {
        parameters: {
            query?: {
                /**
                 * @description How many items to return, 50 by default.
                 * @example 50
                 */
                limit?: number;
                /**
                 * @description next_cursor of the previous page.
                 * @example eyJ2IjoxfQ.kR2vT9
                 */
                cursor?: string;
            };
            header?: {
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AccessTokenPage"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    access_token_create: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes the request safe to repeat. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
            };
            cookie?: never;
        };
        /** @description A JSON object of at most 1 MiB. */
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "ttlSeconds": 900
                 *     }
                 */
                "application/json": components["schemas"]["AccessTokenIn"];
            };
        };
        responses: {
            /** @description Created. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NewAccessToken"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    access_token_revoke: {
        parameters: {
            query?: never;
            header?: {
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
                /**
                 * @description Id of the session token.
                 * @example tok_01M9xQeKcX3vTz6nWJfQ4b
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success, without a body. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Refused"];
        };
    };
    agent_list: {
        parameters: {
            query?: {
                /**
                 * @description How many items to return, 50 by default.
                 * @example 50
                 */
                limit?: number;
                /**
                 * @description next_cursor of the previous page.
                 * @example eyJ2IjoxfQ.kR2vT9
                 */
                cursor?: string;
            };
            header?: {
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AgentPage"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    agent_create: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes the request safe to repeat. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
            };
            cookie?: never;
        };
        /** @description A JSON object of at most 1 MiB. */
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "triage agent",
                 *       "scopes": [
                 *         "secrets:read"
                 *       ]
                 *     }
                 */
                "application/json": components["schemas"]["AgentIn"];
            };
        };
        responses: {
            /** @description Created. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NewAgent"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    agent_read: {
        parameters: {
            query?: never;
            header?: {
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
                /**
                 * @description Id of the agent credential.
                 * @example agt_01M9xQeKcX3vTz6nWJfQ4b
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Agent"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    agent_revoke: {
        parameters: {
            query?: never;
            header?: {
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
                /**
                 * @description Id of the agent credential.
                 * @example agt_01M9xQeKcX3vTz6nWJfQ4b
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success, without a body. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Refused"];
        };
    };
    agent_update: {
        parameters: {
            query?: never;
            header?: {
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
                /**
                 * @description Id of the agent credential.
                 * @example agt_01M9xQeKcX3vTz6nWJfQ4b
                 */
                id: string;
            };
            cookie?: never;
        };
        /** @description A JSON object of at most 1 MiB. */
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "triage agent"
                 *     }
                 */
                "application/json": components["schemas"]["AgentPatch"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Agent"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    provider_token_list: {
        parameters: {
            query?: {
                /**
                 * @description How many items to return, 50 by default.
                 * @example 50
                 */
                limit?: number;
                /**
                 * @description next_cursor of the previous page.
                 * @example eyJ2IjoxfQ.kR2vT9
                 */
                cursor?: string;
            };
            header?: {
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProviderTokenPage"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    provider_token_create: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes the request safe to repeat. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /** @description The approval of this very request, where a policy required one: same method, path, query, body and credential. */
                "Approval-Id"?: components["parameters"]["ApprovalId"];
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
            };
            cookie?: never;
        };
        /** @description A JSON object of at most 1 MiB. */
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "database provisioner",
                 *       "scopes": [
                 *         "issue",
                 *         "rotate",
                 *         "revoke"
                 *       ]
                 *     }
                 */
                "application/json": components["schemas"]["ProviderTokenIn"];
            };
        };
        responses: {
            /** @description Created. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NewProviderToken"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    provider_token_revoke: {
        parameters: {
            query?: never;
            header?: {
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
                /**
                 * @description Id of the provider token.
                 * @example prv_01M9xQeKcX3vTz6nWJfQ4b
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success, without a body. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Refused"];
        };
    };
    break_glass_list: {
        parameters: {
            query?: {
                /**
                 * @description How many items to return, 50 by default.
                 * @example 50
                 */
                limit?: number;
                /**
                 * @description next_cursor of the previous page.
                 * @example eyJ2IjoxfQ.kR2vT9
                 */
                cursor?: string;
            };
            header?: {
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BreakGlassPage"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    break_glass_create: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes the request safe to repeat. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /** @description The approval of this very request, where a policy required one: same method, path, query, body and credential. */
                "Approval-Id"?: components["parameters"]["ApprovalId"];
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
            };
            cookie?: never;
        };
        /** @description A JSON object of at most 1 MiB. */
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "reason": "the primary database is down"
                 *     }
                 */
                "application/json": components["schemas"]["BreakGlassIn"];
            };
        };
        responses: {
            /** @description Created. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NewBreakGlass"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    break_glass_revoke: {
        parameters: {
            query?: never;
            header?: {
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
                /**
                 * @description Id of the break glass token.
                 * @example bgt_01M9xQeKcX3vTz6nWJfQ4b
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success, without a body. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Refused"];
        };
    };
    secret_read_by_name: {
        parameters: {
            query?: {
                /**
                 * @description The version to read. The current one by default.
                 * @example 1
                 */
                version?: number;
                /**
                 * @description Id or slug of the environment. By default, lists cover all environments; other calls use the default environment.
                 * @example production
                 */
                environment?: string;
            };
            header?: {
                /** @description The ETag of the copy that you have. */
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
                /** @description The approval of this very request, where a policy required one: same method, path, query, body and credential. */
                "Approval-Id"?: components["parameters"]["ApprovalId"];
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
                /**
                 * @description Name of the secret. It may contain slashes, percent-encoded or not.
                 * @example DATABASE_URL
                 */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SecretWithValue"];
                };
            };
            /** @description Not modified: your copy is current. There is no body. */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Refused"];
        };
    };
    secret_put: {
        parameters: {
            query?: {
                /**
                 * @description Id or slug of the environment. By default, lists cover all environments; other calls use the default environment.
                 * @example production
                 */
                environment?: string;
            };
            header?: {
                /** @description The ETag of the resource when you read it. */
                "If-Match"?: components["parameters"]["IfMatch"];
                /** @description The ETag of the copy that you have. */
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
                /** @description The approval of this very request, where a policy required one: same method, path, query, body and credential. */
                "Approval-Id"?: components["parameters"]["ApprovalId"];
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
                /**
                 * @description Name of the secret. It may contain slashes, percent-encoded or not.
                 * @example DATABASE_URL
                 */
                name: string;
            };
            cookie?: never;
        };
        /** @description A JSON object of at most 1 MiB. */
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "value": "postgres://app:correct-horse@db.example.com/app"
                 *     }
                 */
                "application/json": components["schemas"]["SecretPut"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Secret"];
                };
            };
            /** @description Created. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Secret"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    secret_list: {
        parameters: {
            query?: {
                /**
                 * @description How many items to return, 50 by default.
                 * @example 50
                 */
                limit?: number;
                /**
                 * @description next_cursor of the previous page.
                 * @example eyJ2IjoxfQ.kR2vT9
                 */
                cursor?: string;
                /**
                 * @description Id or slug of the environment. By default, lists cover all environments; other calls use the default environment.
                 * @example production
                 */
                environment?: string;
                /**
                 * @description Only secrets of this type.
                 * @example database_url
                 */
                type?: "api_key" | "password" | "database_url" | "certificate" | "private_key" | "ssh_key" | "oauth_token" | "webhook_secret" | "env_var" | "json" | "generic";
                /**
                 * @description Only secrets whose names start with this prefix.
                 * @example app/
                 */
                prefix?: string;
                /**
                 * @description Only secrets with this status. Without it, all except deleted ones.
                 * @example active
                 */
                status?: "active" | "expired" | "revoked" | "deleted";
                /**
                 * @description Only secrets with this tag: key, or key:value.
                 * @example team:core
                 */
                tag?: string;
                /**
                 * @description Only the secret with this id, deleted or not: its metadata without reading its value.
                 * @example text
                 */
                id?: string;
                /**
                 * @description name: in the order of names. Needs environment, and lists no deleted secrets. By default, in the order of creation.
                 * @example name
                 */
                sort?: "name";
                /**
                 * @description Lists what is directly below prefix: first folders, which hold the names that have a further / after prefix, then secrets, each in the order of names. limit counts both. Needs environment, and lists no deleted secrets.
                 * @example /
                 */
                delimiter?: "/";
            };
            header?: {
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SecretPage"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    secret_create: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes the request safe to repeat. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
            };
            cookie?: never;
        };
        /** @description A JSON object of at most 1 MiB. */
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "DATABASE_URL",
                 *       "type": "database_url",
                 *       "value": "postgres://app:correct-horse@db.example.com/app"
                 *     }
                 */
                "application/json": components["schemas"]["SecretIn"];
            };
        };
        responses: {
            /** @description Created. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NewSecret"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    secret_read: {
        parameters: {
            query?: {
                /**
                 * @description The version to read. The current one by default.
                 * @example 1
                 */
                version?: number;
            };
            header?: {
                /** @description The ETag of the copy that you have. */
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
                /** @description The approval of this very request, where a policy required one: same method, path, query, body and credential. */
                "Approval-Id"?: components["parameters"]["ApprovalId"];
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
                /**
                 * @description Id of the secret.
                 * @example sec_01M9xQeKcX3vTz6nWJfQ4b
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SecretWithValue"];
                };
            };
            /** @description Not modified: your copy is current. There is no body. */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Refused"];
        };
    };
    secret_delete: {
        parameters: {
            query?: {
                /**
                 * @description Whether to destroy all values now, so that the secret cannot be restored.
                 * @example true
                 */
                permanent?: "true" | "false";
            };
            header?: {
                /** @description The ETag of the resource when you read it. */
                "If-Match"?: components["parameters"]["IfMatch"];
                /** @description The approval of this very request, where a policy required one: same method, path, query, body and credential. */
                "Approval-Id"?: components["parameters"]["ApprovalId"];
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
                /**
                 * @description Id of the secret.
                 * @example sec_01M9xQeKcX3vTz6nWJfQ4b
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success, without a body. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Refused"];
        };
    };
    secret_update: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ETag of the resource when you read it. */
                "If-Match"?: components["parameters"]["IfMatch"];
                /** @description The approval of this very request, where a policy required one: same method, path, query, body and credential. */
                "Approval-Id"?: components["parameters"]["ApprovalId"];
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
                /**
                 * @description Id of the secret.
                 * @example sec_01M9xQeKcX3vTz6nWJfQ4b
                 */
                id: string;
            };
            cookie?: never;
        };
        /** @description A JSON object of at most 1 MiB. */
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "DATABASE_URL"
                 *     }
                 */
                "application/json": components["schemas"]["SecretPatch"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Secret"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    secret_rotate: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ETag of the resource when you read it. */
                "If-Match"?: components["parameters"]["IfMatch"];
                /** @description Makes the request safe to repeat. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /** @description The approval of this very request, where a policy required one: same method, path, query, body and credential. */
                "Approval-Id"?: components["parameters"]["ApprovalId"];
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
                /**
                 * @description Id of the secret.
                 * @example sec_01M9xQeKcX3vTz6nWJfQ4b
                 */
                id: string;
            };
            cookie?: never;
        };
        /** @description A JSON object of at most 1 MiB, or no body. */
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "value": "postgres://app:correct-horse@db.example.com/app"
                 *     }
                 */
                "application/json": components["schemas"]["Rotate"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RotatedSecret"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    secret_versions: {
        parameters: {
            query?: {
                /**
                 * @description How many items to return, 50 by default.
                 * @example 50
                 */
                limit?: number;
                /**
                 * @description next_cursor of the previous page.
                 * @example eyJ2IjoxfQ.kR2vT9
                 */
                cursor?: string;
            };
            header?: {
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
                /**
                 * @description Id of the secret.
                 * @example sec_01M9xQeKcX3vTz6nWJfQ4b
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VersionPage"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    secret_rollback: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ETag of the resource when you read it. */
                "If-Match"?: components["parameters"]["IfMatch"];
                /** @description Makes the request safe to repeat. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /** @description The approval of this very request, where a policy required one: same method, path, query, body and credential. */
                "Approval-Id"?: components["parameters"]["ApprovalId"];
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
                /**
                 * @description Id of the secret.
                 * @example sec_01M9xQeKcX3vTz6nWJfQ4b
                 */
                id: string;
            };
            cookie?: never;
        };
        /** @description A JSON object of at most 1 MiB. */
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "version": 1
                 *     }
                 */
                "application/json": components["schemas"]["Rollback"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Secret"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    secret_restore: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes the request safe to repeat. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /** @description The approval of this very request, where a policy required one: same method, path, query, body and credential. */
                "Approval-Id"?: components["parameters"]["ApprovalId"];
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
                /**
                 * @description Id of the secret.
                 * @example sec_01M9xQeKcX3vTz6nWJfQ4b
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Secret"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    secret_read_all: {
        parameters: {
            query?: {
                /**
                 * @description Only secrets whose names start with this prefix.
                 * @example app/
                 */
                prefix?: string;
            };
            header?: {
                /** @description The ETag of the copy that you have. */
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
                /**
                 * @description Id or slug of the environment.
                 * @example production
                 */
                environment: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Values"];
                };
            };
            /** @description Not modified: your copy is current. There is no body. */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Refused"];
        };
    };
    provider_issue: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes the request safe to repeat. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path?: never;
            cookie?: never;
        };
        /** @description A JSON object of at most 1 MiB. */
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "secretName": "db/app/password",
                 *       "environment": "production",
                 *       "value": "correct-horse-battery",
                 *       "ttlSeconds": 86400
                 *     }
                 */
                "application/json": components["schemas"]["ProviderIssue"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProviderIssued"];
                };
            };
            /** @description Created. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProviderIssued"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    provider_rotate: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes the request safe to repeat. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path?: never;
            cookie?: never;
        };
        /** @description A JSON object of at most 1 MiB. */
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "secretName": "db/app/password",
                 *       "environment": "production",
                 *       "newValue": "correct-horse-battery"
                 *     }
                 */
                "application/json": components["schemas"]["ProviderRotate"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProviderIssued"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    provider_revoke: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes the request safe to repeat. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path?: never;
            cookie?: never;
        };
        /** @description A JSON object of at most 1 MiB. */
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "secretName": "db/app/password",
                 *       "environment": "production"
                 *     }
                 */
                "application/json": components["schemas"]["ProviderRevoke"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProviderRevoked"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    policy_list: {
        parameters: {
            query?: {
                /**
                 * @description How many items to return, 50 by default.
                 * @example 50
                 */
                limit?: number;
                /**
                 * @description next_cursor of the previous page.
                 * @example eyJ2IjoxfQ.kR2vT9
                 */
                cursor?: string;
            };
            header?: {
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PolicyPage"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    policy_create: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes the request safe to repeat. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /** @description The approval of this very request, where a policy required one: same method, path, query, body and credential. */
                "Approval-Id"?: components["parameters"]["ApprovalId"];
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
            };
            cookie?: never;
        };
        /** @description A JSON object of at most 1 MiB. */
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "Upper case",
                 *       "kind": "naming",
                 *       "applies_to": {
                 *         "environments": [
                 *           "production"
                 *         ]
                 *       },
                 *       "config": {
                 *         "pattern": "^[A-Z][A-Z0-9_]*$"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["PolicyIn"];
            };
        };
        responses: {
            /** @description Created. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Policy"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    policy_read: {
        parameters: {
            query?: never;
            header?: {
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
                /**
                 * @description Id of the policy.
                 * @example pol_01M9xQeKcX3vTz6nWJfQ4b
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Policy"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    policy_delete: {
        parameters: {
            query?: never;
            header?: {
                /** @description The approval of this very request, where a policy required one: same method, path, query, body and credential. */
                "Approval-Id"?: components["parameters"]["ApprovalId"];
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
                /**
                 * @description Id of the policy.
                 * @example pol_01M9xQeKcX3vTz6nWJfQ4b
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success, without a body. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Refused"];
        };
    };
    policy_update: {
        parameters: {
            query?: never;
            header?: {
                /** @description The approval of this very request, where a policy required one: same method, path, query, body and credential. */
                "Approval-Id"?: components["parameters"]["ApprovalId"];
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
                /**
                 * @description Id of the policy.
                 * @example pol_01M9xQeKcX3vTz6nWJfQ4b
                 */
                id: string;
            };
            cookie?: never;
        };
        /** @description A JSON object of at most 1 MiB. */
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "enabled": false
                 *     }
                 */
                "application/json": components["schemas"]["PolicyPatch"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Policy"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    policy_violations: {
        parameters: {
            query?: {
                /**
                 * @description How many items to return, 50 by default.
                 * @example 50
                 */
                limit?: number;
                /**
                 * @description next_cursor of the previous page.
                 * @example eyJ2IjoxfQ.kR2vT9
                 */
                cursor?: string;
            };
            header?: {
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
                /**
                 * @description Id of the policy.
                 * @example pol_01M9xQeKcX3vTz6nWJfQ4b
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PolicyViolationPage"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    approval_list: {
        parameters: {
            query?: {
                /**
                 * @description How many items to return, 50 by default.
                 * @example 50
                 */
                limit?: number;
                /**
                 * @description next_cursor of the previous page.
                 * @example eyJ2IjoxfQ.kR2vT9
                 */
                cursor?: string;
                /**
                 * @description Only approvals of this status.
                 * @example pending
                 */
                status?: "pending" | "approved" | "rejected" | "cancelled" | "used" | "expired";
                /**
                 * @description me: only pending approvals that the calling member may decide.
                 * @example me
                 */
                waiting_for?: "me";
            };
            header?: {
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ApprovalPage"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    approval_read: {
        parameters: {
            query?: {
                /**
                 * @description Seconds, up to 25, for which the response waits while the approval is pending.
                 * @example 25
                 */
                wait?: string;
            };
            header?: {
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
                /**
                 * @description Id of the approval.
                 * @example apr_01M9xQeKcX3vTz6nWJfQ4b
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Approval"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    approval_approve: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes the request safe to repeat. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
                /**
                 * @description Id of the approval.
                 * @example apr_01M9xQeKcX3vTz6nWJfQ4b
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Approval"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    approval_reject: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes the request safe to repeat. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
                /**
                 * @description Id of the approval.
                 * @example apr_01M9xQeKcX3vTz6nWJfQ4b
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Approval"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    approval_cancel: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes the request safe to repeat. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
                /**
                 * @description Id of the approval.
                 * @example apr_01M9xQeKcX3vTz6nWJfQ4b
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Approval"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    device_list: {
        parameters: {
            query?: {
                /**
                 * @description How many items to return, 50 by default.
                 * @example 50
                 */
                limit?: number;
                /**
                 * @description next_cursor of the previous page.
                 * @example eyJ2IjoxfQ.kR2vT9
                 */
                cursor?: string;
                /**
                 * @description Only devices with this status.
                 * @example active
                 */
                status?: "active" | "blocked";
                /**
                 * @description Only devices that are assigned to this member.
                 * @example mem_01M9xQeKcX3vTz6nWJfQ4b
                 */
                member_id?: string;
            };
            header?: {
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DevicePage"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    device_create: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes the request safe to repeat. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
            };
            cookie?: never;
        };
        /** @description A JSON object of at most 1 MiB. */
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "Laptop of Ann",
                 *       "platform": "macOS 26"
                 *     }
                 */
                "application/json": components["schemas"]["DeviceIn"];
            };
        };
        responses: {
            /** @description Created. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Device"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    device_read: {
        parameters: {
            query?: never;
            header?: {
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
                /**
                 * @description Id of the device.
                 * @example dev_01M9xQeKcX3vTz6nWJfQ4b
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Device"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    device_delete: {
        parameters: {
            query?: never;
            header?: {
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
                /**
                 * @description Id of the device.
                 * @example dev_01M9xQeKcX3vTz6nWJfQ4b
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success, without a body. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Refused"];
        };
    };
    device_update: {
        parameters: {
            query?: never;
            header?: {
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
                /**
                 * @description Id of the device.
                 * @example dev_01M9xQeKcX3vTz6nWJfQ4b
                 */
                id: string;
            };
            cookie?: never;
        };
        /** @description A JSON object of at most 1 MiB. */
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "Laptop of Ann"
                 *     }
                 */
                "application/json": components["schemas"]["DevicePatch"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Device"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    device_assign: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes the request safe to repeat. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
                /**
                 * @description Id of the device.
                 * @example dev_01M9xQeKcX3vTz6nWJfQ4b
                 */
                id: string;
            };
            cookie?: never;
        };
        /** @description A JSON object of at most 1 MiB. */
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "member_id": "mem_01M9xQeKcX3vTz6nWJfQ4b"
                 *     }
                 */
                "application/json": components["schemas"]["DeviceAssign"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Device"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    device_block: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes the request safe to repeat. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
                /**
                 * @description Id of the device.
                 * @example dev_01M9xQeKcX3vTz6nWJfQ4b
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Device"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    audit_read: {
        parameters: {
            query?: {
                /**
                 * @description How many items to return, 50 by default.
                 * @example 50
                 */
                limit?: number;
                /**
                 * @description next_cursor of the previous page.
                 * @example eyJ2IjoxfQ.kR2vT9
                 */
                cursor?: string;
                /**
                 * @description Only entries of the credential or member with this id.
                 * @example key_01M9xQeKcX3vTz6nWJfQ4b
                 */
                actor?: string;
                /**
                 * @description Only entries of this action, or of any of several, separated by commas.
                 * @example secret.read
                 */
                action?: string;
                /**
                 * @description Only entries about the resource with this id.
                 * @example sec_01M9xQeKcX3vTz6nWJfQ4b
                 */
                resource?: string;
                /**
                 * @description Only entries with this outcome.
                 * @example success
                 */
                outcome?: "success" | "denied" | "failed";
                /**
                 * @description Only entries at or after this time.
                 * @example 2026-11-21T12:00:00.000Z
                 */
                from?: string;
                /**
                 * @description Only entries before this time.
                 * @example 2026-11-21T12:00:00.000Z
                 */
                to?: string;
                /**
                 * @description ndjson streams all matching entries, one per line.
                 * @example json
                 */
                format?: "json" | "ndjson";
            };
            header?: {
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AuditPage"];
                    "application/x-ndjson": string;
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    audit_verify: {
        parameters: {
            query?: {
                /**
                 * @description next_cursor of the previous page.
                 * @example eyJ2IjoxfQ.kR2vT9
                 */
                cursor?: string;
            };
            header?: {
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Verification"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    audit_checkpoints: {
        parameters: {
            query?: {
                /**
                 * @description How many items to return, 50 by default.
                 * @example 50
                 */
                limit?: number;
                /**
                 * @description next_cursor of the previous page.
                 * @example eyJ2IjoxfQ.kR2vT9
                 */
                cursor?: string;
                /**
                 * @description ndjson streams all checkpoints, one per line.
                 * @example json
                 */
                format?: "json" | "ndjson";
            };
            header?: {
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CheckpointPage"];
                    "application/x-ndjson": string;
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    audit_key: {
        parameters: {
            query?: never;
            header?: {
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CheckpointKey"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    audit_export: {
        parameters: {
            query?: never;
            header?: {
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AuditExportLine"];
                    "application/x-ndjson": string;
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    audit_export_confirm: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes the request safe to repeat. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
            };
            cookie?: never;
        };
        /** @description A JSON object of at most 1 MiB. */
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "sequence": 42,
                 *       "hash": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
                 *     }
                 */
                "application/json": components["schemas"]["ExportConfirmation"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ExportConfirmed"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    audit_readers: {
        parameters: {
            query?: {
                /**
                 * @description How many items to return, 50 by default.
                 * @example 50
                 */
                limit?: number;
                /**
                 * @description next_cursor of the previous page.
                 * @example eyJ2IjoxfQ.kR2vT9
                 */
                cursor?: string;
            };
            header?: {
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
                /**
                 * @description Id of the secret.
                 * @example sec_01M9xQeKcX3vTz6nWJfQ4b
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReaderPage"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    audit_archive: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes the request safe to repeat. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Archived"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    compliance_report: {
        parameters: {
            query?: {
                /**
                 * @description json by default. csv has one row per piece of evidence; html is one page that prints well.
                 * @example json
                 */
                format?: "json" | "csv" | "html";
                /**
                 * @description Begin of the period, for what is taken from the audit log and from approvals. 90 days before to by default.
                 * @example 2026-11-21T12:00:00.000Z
                 */
                from?: string;
                /**
                 * @description End of the period, now by default. A period has at most 400 days.
                 * @example 2026-11-21T12:00:00.000Z
                 */
                to?: string;
            };
            header?: {
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ComplianceReport"];
                    "text/csv": string;
                    "text/html": string;
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    event_read: {
        parameters: {
            query?: {
                /**
                 * @description Only events with a greater sequence: next_after of the previous page.
                 * @example 42
                 */
                after?: number;
                /**
                 * @description Only events of these kinds, separated by commas.
                 * @example SECRET_CREATED,SECRET_ROTATED
                 */
                types?: string;
                /**
                 * @description How many items to return, 50 by default.
                 * @example 50
                 */
                limit?: number;
            };
            header?: {
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EventPage"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    event_stream: {
        parameters: {
            query?: {
                /**
                 * @description Only events with a greater sequence. Without it, what comes from now on.
                 * @example 42
                 */
                after?: number;
                /**
                 * @description Only events of these kinds, separated by commas.
                 * @example SECRET_CREATED,SECRET_ROTATED
                 */
                types?: string;
                /**
                 * @description For user interfaces: the stream also sends CHANGED, without an id, when resources change of which no event tells. Its data names their kinds, such as {"kinds":["member","grant"]}. Only for a caller that sees all kinds of events, and not over a WebSocket.
                 * @example true
                 */
                changes?: "true";
            };
            header?: {
                /** @description The id of the last event that the client received: the stream goes on behind it. */
                "Last-Event-ID"?: components["parameters"]["LastEventId"];
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Event"];
                    "text/event-stream": string;
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    webhook_list: {
        parameters: {
            query?: {
                /**
                 * @description How many items to return, 50 by default.
                 * @example 50
                 */
                limit?: number;
                /**
                 * @description next_cursor of the previous page.
                 * @example eyJ2IjoxfQ.kR2vT9
                 */
                cursor?: string;
            };
            header?: {
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookPage"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    webhook_create: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes the request safe to repeat. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
            };
            cookie?: never;
        };
        /** @description A JSON object of at most 1 MiB. */
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "url": "https://hooks.example.com/vault",
                 *       "events": [
                 *         "SECRET_ROTATED",
                 *         "SECRET_DELETED"
                 *       ]
                 *     }
                 */
                "application/json": components["schemas"]["WebhookIn"];
            };
        };
        responses: {
            /** @description Created. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookCreated"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    webhook_read: {
        parameters: {
            query?: never;
            header?: {
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
                /**
                 * @description Id of the webhook.
                 * @example whk_01M9xQeKcX3vTz6nWJfQ4b
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Webhook"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    webhook_delete: {
        parameters: {
            query?: never;
            header?: {
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
                /**
                 * @description Id of the webhook.
                 * @example whk_01M9xQeKcX3vTz6nWJfQ4b
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success, without a body. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Refused"];
        };
    };
    webhook_update: {
        parameters: {
            query?: never;
            header?: {
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
                /**
                 * @description Id of the webhook.
                 * @example whk_01M9xQeKcX3vTz6nWJfQ4b
                 */
                id: string;
            };
            cookie?: never;
        };
        /** @description A JSON object of at most 1 MiB. */
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "url": "https://hooks.example.com/vault"
                 *     }
                 */
                "application/json": components["schemas"]["WebhookPatch"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Webhook"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    webhook_rotate_secret: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes the request safe to repeat. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
                /**
                 * @description Id of the webhook.
                 * @example whk_01M9xQeKcX3vTz6nWJfQ4b
                 */
                id: string;
            };
            cookie?: never;
        };
        /** @description A JSON object of at most 1 MiB, or no body. */
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "overlap_seconds": 3600
                 *     }
                 */
                "application/json": components["schemas"]["WebhookRotateSecretIn"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookCreated"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    webhook_test: {
        parameters: {
            query?: never;
            header?: {
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
                /**
                 * @description Id of the webhook.
                 * @example whk_01M9xQeKcX3vTz6nWJfQ4b
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookDelivery"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    webhook_deliveries: {
        parameters: {
            query?: {
                /**
                 * @description How many items to return, 50 by default.
                 * @example 50
                 */
                limit?: number;
                /**
                 * @description next_cursor of the previous page.
                 * @example eyJ2IjoxfQ.kR2vT9
                 */
                cursor?: string;
                /**
                 * @description Only deliveries with this status.
                 * @example pending
                 */
                status?: "pending" | "delivered" | "failed";
            };
            header?: {
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
                /**
                 * @description Id of the webhook.
                 * @example whk_01M9xQeKcX3vTz6nWJfQ4b
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookDeliveryPage"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    webhook_redeliver: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes the request safe to repeat. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
                /**
                 * @description Id of the webhook.
                 * @example whk_01M9xQeKcX3vTz6nWJfQ4b
                 */
                id: string;
                /**
                 * @description Id of the delivery.
                 * @example dlv_01M9xQeKcX3vTz6nWJfQ4b
                 */
                delivery_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Accepted. The work continues in the background. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookDelivery"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    webhook_redeliver_since: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes the request safe to repeat. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
                /**
                 * @description Id of the webhook.
                 * @example whk_01M9xQeKcX3vTz6nWJfQ4b
                 */
                id: string;
            };
            cookie?: never;
        };
        /** @description A JSON object of at most 1 MiB. */
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "since": "2026-11-21T12:00:00.000Z"
                 *     }
                 */
                "application/json": components["schemas"]["WebhookRedeliverIn"];
            };
        };
        responses: {
            /** @description Accepted. The work continues in the background. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookRedelivered"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    integration_generate: {
        parameters: {
            query?: never;
            header?: {
                /** @description The approval of this very request, where a policy required one: same method, path, query, body and credential. */
                "Approval-Id"?: components["parameters"]["ApprovalId"];
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
            };
            cookie?: never;
        };
        /** @description A JSON object of at most 1 MiB. */
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "format": "dotenv",
                 *       "environmentId": "production"
                 *     }
                 */
                "application/json": components["schemas"]["GenerateIn"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GeneratedFile"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    integration_import: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes the request safe to repeat. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /** @description The approval of this very request, where a policy required one: same method, path, query, body and credential. */
                "Approval-Id"?: components["parameters"]["ApprovalId"];
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
            };
            cookie?: never;
        };
        /** @description A JSON object of at most 1 MiB. */
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "source": "doppler",
                 *       "data": {
                 *         "DATABASE_URL": "postgres://…"
                 *       },
                 *       "onConflict": "skip"
                 *     }
                 */
                "application/json": components["schemas"]["ImportIn"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Imported"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    integration_platforms: {
        parameters: {
            query?: never;
            header?: {
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlatformPage"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    integration_notify: {
        parameters: {
            query?: never;
            header?: {
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
            };
            cookie?: never;
        };
        /** @description A JSON object of at most 1 MiB. */
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "platform": "slack",
                 *       "config": {
                 *         "webhookUrl": "https://hooks.slack.com/services/T000/B000/XXXX"
                 *       },
                 *       "severity": "info",
                 *       "message": "Deployed 1.4.2 to production"
                 *     }
                 */
                "application/json": components["schemas"]["NotifyIn"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Notified"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    integration_list: {
        parameters: {
            query?: {
                /**
                 * @description How many items to return, 50 by default.
                 * @example 50
                 */
                limit?: number;
                /**
                 * @description next_cursor of the previous page.
                 * @example eyJ2IjoxfQ.kR2vT9
                 */
                cursor?: string;
            };
            header?: {
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["IntegrationPage"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    integration_create: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes the request safe to repeat. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
            };
            cookie?: never;
        };
        /** @description A JSON object of at most 1 MiB. */
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "kind": "notify",
                 *       "platform": "slack",
                 *       "name": "Operations channel",
                 *       "config": {
                 *         "webhookUrl": "https://hooks.slack.com/services/T000/B000/XXXX"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["IntegrationIn"];
            };
        };
        responses: {
            /** @description Created. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Integration"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    integration_read: {
        parameters: {
            query?: never;
            header?: {
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
                /**
                 * @description Id of the integration.
                 * @example int_01M9xQeKcX3vTz6nWJfQ4b
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Integration"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    integration_delete: {
        parameters: {
            query?: never;
            header?: {
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
                /**
                 * @description Id of the integration.
                 * @example int_01M9xQeKcX3vTz6nWJfQ4b
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success, without a body. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Refused"];
        };
    };
    integration_update: {
        parameters: {
            query?: never;
            header?: {
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
                /**
                 * @description Id of the integration.
                 * @example int_01M9xQeKcX3vTz6nWJfQ4b
                 */
                id: string;
            };
            cookie?: never;
        };
        /** @description A JSON object of at most 1 MiB. */
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "Operations channel"
                 *     }
                 */
                "application/json": components["schemas"]["IntegrationPatch"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Integration"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    integration_sync: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes the request safe to repeat. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /** @description The approval of this very request, where a policy required one: same method, path, query, body and credential. */
                "Approval-Id"?: components["parameters"]["ApprovalId"];
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
            };
            cookie?: never;
        };
        /** @description A JSON object of at most 1 MiB. */
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "platform": "heroku",
                 *       "config": {
                 *         "token": "HRKU-00000000-0000-0000-0000-000000000000",
                 *         "appName": "demo-app"
                 *       },
                 *       "environmentId": "production"
                 *     }
                 */
                "application/json": components["schemas"]["SyncIn"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SyncDryRun"];
                };
            };
            /** @description Accepted. The work continues in the background. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["QueuedSync"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    integration_syncs: {
        parameters: {
            query?: {
                /**
                 * @description How many items to return, 50 by default.
                 * @example 50
                 */
                limit?: number;
                /**
                 * @description next_cursor of the previous page.
                 * @example eyJ2IjoxfQ.kR2vT9
                 */
                cursor?: string;
            };
            header?: {
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SyncPage"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    integration_sync_status: {
        parameters: {
            query?: never;
            header?: {
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
                /**
                 * @description Id of the sync.
                 * @example syn_01M9xQeKcX3vTz6nWJfQ4b
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Sync"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    integration_sync_cancel: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes the request safe to repeat. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
                /**
                 * @description Id of the sync.
                 * @example syn_01M9xQeKcX3vTz6nWJfQ4b
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Sync"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    secret_share: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes the request safe to repeat. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /** @description The approval of this very request, where a policy required one: same method, path, query, body and credential. */
                "Approval-Id"?: components["parameters"]["ApprovalId"];
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
                /**
                 * @description Id of the secret.
                 * @example sec_01M9xQeKcX3vTz6nWJfQ4b
                 */
                id: string;
            };
            cookie?: never;
        };
        /** @description A JSON object of at most 1 MiB. */
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "kind": "link",
                 *       "expires_in": 3600,
                 *       "max_views": 1
                 *     }
                 */
                "application/json": components["schemas"]["ShareIn"];
            };
        };
        responses: {
            /** @description Created. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NewShare"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    secret_share_list: {
        parameters: {
            query?: {
                /**
                 * @description How many items to return, 50 by default.
                 * @example 50
                 */
                limit?: number;
                /**
                 * @description next_cursor of the previous page.
                 * @example eyJ2IjoxfQ.kR2vT9
                 */
                cursor?: string;
            };
            header?: {
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
                /**
                 * @description Id of the secret.
                 * @example sec_01M9xQeKcX3vTz6nWJfQ4b
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SharePage"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    secret_share_revoke: {
        parameters: {
            query?: never;
            header?: {
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
                /**
                 * @description Id of the secret.
                 * @example sec_01M9xQeKcX3vTz6nWJfQ4b
                 */
                id: string;
                /**
                 * @description Id of the share.
                 * @example shr_01M9xQeKcX3vTz6nWJfQ4b
                 */
                share_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success, without a body. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Refused"];
        };
    };
    secret_share_view: {
        parameters: {
            query?: never;
            header?: {
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
            };
            path: {
                /**
                 * @description Id of the link.
                 * @example shr_01M9xQeKcX3vTz6nWJfQ4b
                 */
                id: string;
            };
            cookie?: never;
        };
        /** @description A JSON object of at most 1 MiB. */
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "key": "svcshare_…"
                 *     }
                 */
                "application/json": components["schemas"]["ViewIn"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Viewed"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    scan_create: {
        parameters: {
            query?: {
                /**
                 * @description sarif: the findings as SARIF 2.1.0. json by default.
                 * @example json
                 */
                format?: "json" | "sarif";
            };
            header?: {
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
            };
            cookie?: never;
        };
        /** @description A JSON object of at most 1 MiB. */
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "text": "DATABASE_URL=…"
                 *     }
                 */
                "application/json": components["schemas"]["ScanIn"];
            };
        };
        responses: {
            /** @description Created. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Scan"];
                    "application/sarif+json": Record<string, never>;
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    org_panic: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes the request safe to repeat. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
            };
            cookie?: never;
        };
        /** @description A JSON object of at most 1 MiB. */
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "reason": "a laptop was stolen"
                 *     }
                 */
                "application/json": components["schemas"]["PanicIn"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Panicked"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    credential_contain: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes the request safe to repeat. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
                /**
                 * @description Id of the credential.
                 * @example key_01M9xQeKcX3vTz6nWJfQ4b
                 */
                id: string;
            };
            cookie?: never;
        };
        /** @description A JSON object of at most 1 MiB, or no body. */
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "since": "2026-11-21T12:00:00.000Z"
                 *     }
                 */
                "application/json": components["schemas"]["ContainIn"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Contained"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    credential_graph: {
        parameters: {
            query?: never;
            header?: {
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
                /**
                 * @description Id of the credential.
                 * @example key_01M9xQeKcX3vTz6nWJfQ4b
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CredentialGraph"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    deployment_rewrap: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes the request safe to repeat. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
            };
            path?: never;
            cookie?: never;
        };
        /** @description A JSON object of at most 1 MiB, or no body. */
        requestBody?: {
            content: {
                /** @example {} */
                "application/json": components["schemas"]["RewrapIn"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Rewrapped"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    auth_enrol_options: {
        parameters: {
            query?: never;
            header?: {
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
            };
            path?: never;
            cookie?: never;
        };
        /** @description A JSON object of at most 1 MiB. */
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "token": "svcenrol_…"
                 *     }
                 */
                "application/json": components["schemas"]["EnrolOptionsIn"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CreationOptions"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    auth_enrol: {
        parameters: {
            query?: never;
            header?: {
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
            };
            path?: never;
            cookie?: never;
        };
        /** @description A JSON object of at most 1 MiB. */
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "token": "svcenrol_…",
                 *       "response": {
                 *         "id": "AAAA",
                 *         "rawId": "AAAA",
                 *         "type": "public-key",
                 *         "response": {
                 *           "clientDataJSON": "AAAA",
                 *           "attestationObject": "AAAA"
                 *         }
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["EnrolIn"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SignedIn"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    auth_login_options: {
        parameters: {
            query?: never;
            header?: {
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
            };
            path?: never;
            cookie?: never;
        };
        /** @description A JSON object of at most 1 MiB, or no body. */
        requestBody?: {
            content: {
                /** @example {} */
                "application/json": components["schemas"]["LoginOptionsIn"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RequestOptions"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    auth_login: {
        parameters: {
            query?: never;
            header?: {
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
            };
            path?: never;
            cookie?: never;
        };
        /** @description A JSON object of at most 1 MiB. */
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "response": {
                 *         "id": "AAAA",
                 *         "rawId": "AAAA",
                 *         "type": "public-key",
                 *         "response": {
                 *           "clientDataJSON": "AAAA",
                 *           "authenticatorData": "AAAA",
                 *           "signature": "AAAA"
                 *         }
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["LoginIn"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SignedIn"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    auth_confirm_options: {
        parameters: {
            query?: never;
            header?: {
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path?: never;
            cookie?: never;
        };
        /** @description A JSON object of at most 1 MiB, or no body. */
        requestBody?: {
            content: {
                /** @example {} */
                "application/json": components["schemas"]["LoginOptionsIn"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RequestOptions"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    auth_confirm: {
        parameters: {
            query?: never;
            header?: {
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path?: never;
            cookie?: never;
        };
        /** @description A JSON object of at most 1 MiB. */
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "response": {
                 *         "id": "AAAA",
                 *         "rawId": "AAAA",
                 *         "type": "public-key",
                 *         "response": {
                 *           "clientDataJSON": "AAAA",
                 *           "authenticatorData": "AAAA",
                 *           "signature": "AAAA"
                 *         }
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["LoginIn"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SignedIn"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    auth_refresh: {
        parameters: {
            query?: never;
            header?: {
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
            };
            path?: never;
            cookie?: never;
        };
        /** @description A JSON object of at most 1 MiB, or no body. */
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "refresh_token": "svcref_…"
                 *     }
                 */
                "application/json": components["schemas"]["RefreshIn"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Refreshed"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    auth_logout: {
        parameters: {
            query?: never;
            header?: {
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success, without a body. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Refused"];
        };
    };
    auth_session_list: {
        parameters: {
            query?: {
                /**
                 * @description How many items to return, 50 by default.
                 * @example 50
                 */
                limit?: number;
                /**
                 * @description next_cursor of the previous page.
                 * @example eyJ2IjoxfQ.kR2vT9
                 */
                cursor?: string;
            };
            header?: {
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BrowserSessionPage"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    auth_session_end: {
        parameters: {
            query?: never;
            header?: {
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success, without a body. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Refused"];
        };
    };
    auth_session_end_one: {
        parameters: {
            query?: never;
            header?: {
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the browser session.
                 * @example ses_01M9xQeKcX3vTz6nWJfQ4b
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success, without a body. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Refused"];
        };
    };
    auth_device: {
        parameters: {
            query?: never;
            header?: {
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
            };
            path?: never;
            cookie?: never;
        };
        /** @description A JSON object of at most 1 MiB. */
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "client_name": "svc on ann-laptop"
                 *     }
                 */
                "application/json": components["schemas"]["DeviceLoginIn"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeviceLogin"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    auth_device_token: {
        parameters: {
            query?: never;
            header?: {
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
            };
            path?: never;
            cookie?: never;
        };
        /** @description A JSON object of at most 1 MiB. */
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "device_code": "svcdc_…"
                 *     }
                 */
                "application/json": components["schemas"]["DeviceTokenIn"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TerminalSignedIn"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    auth_device_lookup: {
        parameters: {
            query?: never;
            header?: {
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path?: never;
            cookie?: never;
        };
        /** @description A JSON object of at most 1 MiB. */
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "user_code": "WDJB-MJHT"
                 *     }
                 */
                "application/json": components["schemas"]["UserCodeIn"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeviceLoginRequest"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    auth_device_confirm: {
        parameters: {
            query?: never;
            header?: {
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path?: never;
            cookie?: never;
        };
        /** @description A JSON object of at most 1 MiB. */
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "user_code": "WDJB-MJHT"
                 *     }
                 */
                "application/json": components["schemas"]["UserCodeIn"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeviceLoginDecided"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    auth_device_deny: {
        parameters: {
            query?: never;
            header?: {
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path?: never;
            cookie?: never;
        };
        /** @description A JSON object of at most 1 MiB. */
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "user_code": "WDJB-MJHT"
                 *     }
                 */
                "application/json": components["schemas"]["UserCodeIn"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeviceLoginDecided"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    trust_list: {
        parameters: {
            query?: {
                /**
                 * @description How many items to return, 50 by default.
                 * @example 50
                 */
                limit?: number;
                /**
                 * @description next_cursor of the previous page.
                 * @example eyJ2IjoxfQ.kR2vT9
                 */
                cursor?: string;
            };
            header?: {
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TrustPage"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    trust_create: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes the request safe to repeat. */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
            };
            cookie?: never;
        };
        /** @description A JSON object of at most 1 MiB. */
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "GitHub Actions: acme/app",
                 *       "issuer": "https://token.actions.githubusercontent.com",
                 *       "claims": {
                 *         "sub": "repo:acme/app:ref:refs/heads/main"
                 *       },
                 *       "scopes": [
                 *         "secrets:read"
                 *       ]
                 *     }
                 */
                "application/json": components["schemas"]["TrustIn"];
            };
        };
        responses: {
            /** @description Created. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Trust"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    trust_read: {
        parameters: {
            query?: never;
            header?: {
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
                /**
                 * @description Id of the trust.
                 * @example trs_01M9xQeKcX3vTz6nWJfQ4b
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Trust"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    trust_delete: {
        parameters: {
            query?: never;
            header?: {
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
                /**
                 * @description Id of the trust.
                 * @example trs_01M9xQeKcX3vTz6nWJfQ4b
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Success, without a body. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Refused"];
        };
    };
    trust_update: {
        parameters: {
            query?: never;
            header?: {
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
                /** @description A DPoP proof (RFC 9449), needed with each request by a credential that is bound to a device (device_id): a JWT with typ dpop+jwt, alg ES256 or EdDSA and jwk in its header, and htm, htu, iat, jti and ath. */
                DPoP?: components["parameters"]["DPoP"];
            };
            path: {
                /**
                 * @description Id of the organisation that the credential belongs to.
                 * @example org_01M9xQeKcX3vTz6nWJfQ4b
                 */
                org_id: string;
                /**
                 * @description Id of the trust.
                 * @example trs_01M9xQeKcX3vTz6nWJfQ4b
                 */
                id: string;
            };
            cookie?: never;
        };
        /** @description A JSON object of at most 1 MiB. */
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "GitHub Actions: acme/app"
                 *     }
                 */
                "application/json": components["schemas"]["TrustPatch"];
            };
        };
        responses: {
            /** @description Success. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Trust"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
    auth_exchange: {
        parameters: {
            query?: never;
            header?: {
                /** @description The reason for the request, stored in its audit log entry. */
                "X-Access-Reason"?: components["parameters"]["AccessReason"];
            };
            path?: never;
            cookie?: never;
        };
        /** @description A JSON object of at most 1 MiB. */
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "org_id": "org_01M9xQeKcX3vTz6nWJfQ4b",
                 *       "trust_id": "trs_01M9xQeKcX3vTz6nWJfQ4b",
                 *       "token": "eyJhbGciOiJSUzI1NiIs…"
                 *     }
                 */
                "application/json": components["schemas"]["ExchangeIn"];
            };
        };
        responses: {
            /** @description Created. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Exchanged"];
                };
            };
            default: components["responses"]["Refused"];
        };
    };
}
