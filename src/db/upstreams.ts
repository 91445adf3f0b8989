// What an upstream stores of itself: how it places secrets in a request, and which requests it lets through.
// Invariant: each credential in it is a `{{NAME}}`, so no row of an upstream contains one.

/** A text in which each `{{NAME}}` is filled once with the value of that secret. */
type Template = string;

/** `guessable`: a value that a list could hold may be placed, although masking does not keep it in. */
type Placing<T> = T & { guessable?: boolean };

export type UpstreamAuth =
  | Placing<{ type: 'header'; name: string; value: Template }>
  | Placing<{ type: 'basic'; username: Template; password: Template }>
  | Placing<{ type: 'query'; name: string; value: Template }>
  | Placing<{
      type: 'aws_sigv4';
      access_key_id: Template;
      secret_access_key: Template;
      session_token?: Template;
      region: string;
      service: string;
    }>
  | Placing<{
      type: 'oauth2_client_credentials';
      token_url: string;
      client_id: Template;
      client_secret: Template;
      scope?: string;
      audience?: string;
    }>
  | Placing<{ type: 'google_service_account'; key: Template; scopes: string[] }>
  | Placing<{ type: 'github_app'; app_id: string; installation_id: string; private_key: Template }>;

/** Requests that are let through. Paths and the values of headers are glob patterns. */
export interface UpstreamAllow {
  methods: string[];
  paths: string[];
  headers?: Record<string, string>;
}
