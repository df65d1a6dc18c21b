# docker build -t engagectl . && docker run --rm engagectl --help
# The digest of a tag that can be moved: https://github.com/docker-library/repo-info, repos/node. Both stages name the same one.
FROM node:24.18.0-bookworm-slim@sha256:6f7b03f7c2c8e2e784dcf9295400527b9b1270fd37b7e9a7285cf83b6951452d AS build
WORKDIR /build
COPY package.json package-lock.json ./
RUN npm ci
COPY . .
RUN npm run build && npm prune --omit=dev

FROM node:24.18.0-bookworm-slim@sha256:6f7b03f7c2c8e2e784dcf9295400527b9b1270fd37b7e9a7285cf83b6951452d
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
