"""The built page; `npm run build` in web/ writes console.js."""
