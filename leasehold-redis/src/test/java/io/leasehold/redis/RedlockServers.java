package io.leasehold.redis;

import io.leasehold.engine.SystemLockRuntime;
import io.leasehold.servers.RedisServer;
import io.leasehold.simulator.proxy.TcpProxy;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.StoreUri;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;

/** A set of real servers, each behind a proxy, with generous time limits. A machine without servers skips the test. */
final class RedlockServers implements AutoCloseable {

    private final List<RedisServer> servers = new ArrayList<>();
    private final List<TcpProxy> proxies = new ArrayList<>();
    private final String maxTtl;
    private final String nodeTimeout;

    private RedlockServers(String maxTtl, String nodeTimeout) {
        this.maxTtl = maxTtl;
        this.nodeTimeout = nodeTimeout;
    }

    static RedlockServers start(int count, String maxTtl) {
        return start(count, maxTtl, "300ms");
    }

    static RedlockServers start(int count, String maxTtl, String nodeTimeout) {
        return start(count, maxTtl, nodeTimeout, builder -> builder);
    }

    static RedlockServers start(
            int count, String maxTtl, String nodeTimeout, UnaryOperator<RedisServer.Builder> configuration) {
        RedlockServers set = new RedlockServers(maxTtl, nodeTimeout);
        try {
            for (int i = 0; i < count; i++) {
                RedisServer server = RedisUnderTest.start(configuration);
                set.servers.add(server);
                set.proxies.add(TcpProxy.to(server.port()));
            }
            return set;
        } catch (RuntimeException e) {
            set.close();
            throw e;
        }
    }

    RedisServer server(int node) {
        return servers.get(node);
    }

    TcpProxy proxy(int node) {
        return proxies.get(node);
    }

    int size() {
        return servers.size();
    }

    /** The set, reached without the proxies. */
    String uri() {
        return uri(servers.stream().map(RedisServer::port).toList(), maxTtl);
    }

    /** The set, reached through the proxies. */
    String uriOverProxies() {
        return uri(proxies.stream().map(TcpProxy::port).toList(), maxTtl);
    }

    String uri(List<Integer> ports, String ttl) {
        StringBuilder uri = new StringBuilder("redlock:?maxTtl=" + ttl + "&nodeTimeout=" + nodeTimeout);
        for (int i = 0; i < ports.size(); i++) {
            String node = "redis://127.0.0.1:" + ports.get(i) + "?name=node-" + (i + 1);
            uri.append("&node=").append(URLEncoder.encode(node, StandardCharsets.UTF_8));
        }
        return uri.toString();
    }

    /** Declares the set new, as an operator does before its first use. */
    void declareNew() {
        SystemLockRuntime runtime = new SystemLockRuntime();
        LockStore store = new RedlockStoreProvider().open(StoreUri.parse(uri()), runtime);
        try {
            store.members()
                    .orElseThrow()
                    .declareNew(TimeUnit.SECONDS.toNanos(20))
                    .join();
        } finally {
            store.close();
            runtime.close();
        }
    }

    @Override
    public void close() {
        proxies.forEach(TcpProxy::close);
        servers.forEach(RedisServer::close);
    }
}
