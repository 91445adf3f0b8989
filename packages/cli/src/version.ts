// The version of this package, set by the build.
declare const SVC_VERSION: string | undefined;

export const VERSION: string = typeof SVC_VERSION === 'string' ? SVC_VERSION : '0.0.0';
