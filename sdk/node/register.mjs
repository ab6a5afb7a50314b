// For `node --import unit-http/register.mjs`, from Node.js 18.19 and 20.6 on: what `--loader` was before.
import { register } from 'node:module'

register('./loader.mjs', import.meta.url)
