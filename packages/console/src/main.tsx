// Starts the console.
import './styles/tokens.css';
import './styles/base.css';
import './styles/parts.css';
import './styles/shell.css';
import { render } from 'preact';
import { App } from './app';
import { start } from './session';
import { applyStoredTheme } from './theme';

applyStoredTheme();
render(<App />, document.getElementById('app') as HTMLElement);
void start();
