// Tells the type checker which Worker the tests call.
declare namespace Cloudflare {
  interface GlobalProps {
    mainModule: typeof import('./main');
  }
}
