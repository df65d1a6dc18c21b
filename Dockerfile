# docker build -t engagectl . && docker run --rm engagectl --help
FROM node:24-bookworm-slim AS build
WORKDIR /build
COPY package.json package-lock.json ./
RUN npm ci
COPY . .
RUN npm run build && npm prune --omit=dev

FROM node:24-bookworm-slim
ENV NODE_ENV=production ENGAGECTL_CONFIG_DIR=/config ENGAGECTL_STATE_DIR=/state
COPY --from=build /build/package.json /build/LICENSE /build/CHANGELOG.md /app/
COPY --from=build /build/bin/engagectl.js /build/bin/package.json /app/bin/
COPY --from=build /build/bin/health.mjs /app/bin/
COPY --from=build /build/dist /app/dist
COPY --from=build /build/node_modules /app/node_modules
# By this name what is to be typed next is told, too.
RUN ln -s /app/bin/engagectl.js /usr/local/bin/engagectl
RUN install --directory --owner=node --group=node --mode=0700 /config /state /data
USER node
WORKDIR /data
# Asks the service of `serve`; a container that runs another command is healthy while it runs.
HEALTHCHECK --interval=5s --timeout=3s --start-period=5s CMD ["node", "/app/bin/health.mjs"]
# Signals reach the program itself: it has handlers of its own for them.
ENTRYPOINT ["engagectl"]
