// Starts the console.
import './styles/tokens.css';
import './styles/base.css';
import './styles/parts.css';
import './styles/shell.css';
import { render } from 'preact';
import { App } from './app';
import { startGuard } from './navigation/guard';
import { start } from './session/session';
import { applyStoredTheme } from './shell/theme';

applyStoredTheme();
startGuard();
// Until the session is known, the frame of index.html is shown.
void start().then(() => render(<App />, document.getElementById('app') as HTMLElement));
