package io.leasehold.zookeeper;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.OptionalInt;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.Op;
import org.apache.zookeeper.OpResult;
import org.apache.zookeeper.Watcher;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.client.ZKClientConfig;
import org.apache.zookeeper.common.ClientX509Util;
import org.apache.zookeeper.common.ZKConfig;
import org.apache.zookeeper.data.ACL;
import org.jspecify.annotations.Nullable;

/** The access of sessions to ZooKeeper's own client. Futures complete on its event threads. */
final class Driver implements SessionCalls.Opener {

    /**
     * The buffer for the children of one node: some hundred thousand locks, or waiters of one lock. The driver's
     * default limit is 1 MB, and the driver closes the connection if an answer is larger.
     */
    private static final int ANSWER_BYTES = 64 * 1024 * 1024;

    private final ZooKeeperUri uri;
    private final List<ACL> acl;
    private final ZKClientConfig config;

    Driver(ZooKeeperUri uri) {
        this(uri, config(uri));
    }

    Driver(ZooKeeperUri uri, ZKClientConfig config) {
        this.uri = uri;
        this.acl = uri.credentials() == null ? ZooDefs.Ids.OPEN_ACL_UNSAFE : ZooDefs.Ids.CREATOR_ALL_ACL;
        this.config = config;
    }

    static ZKClientConfig config(ZooKeeperUri uri) {
        ZKClientConfig config = new ZKClientConfig();
        config.setProperty(ZKClientConfig.ENABLE_CLIENT_SASL_KEY, "false");
        // A waiter relies on its watch across a reconnection, even if another user of the driver disables that for the
        // process.
        config.setProperty(ZKClientConfig.DISABLE_AUTO_WATCH_RESET, "false");
        int answerBytes = Math.max(ANSWER_BYTES, config.getInt(ZKConfig.JUTE_MAXBUFFER, ANSWER_BYTES));
        config.setProperty(ZKConfig.JUTE_MAXBUFFER, Integer.toString(answerBytes));
        if (!uri.tls()) {
            return config;
        }
        config.setProperty(ZKClientConfig.SECURE_CLIENT, "true");
        config.setProperty(ZKClientConfig.ZOOKEEPER_CLIENT_CNXN_SOCKET, "org.apache.zookeeper.ClientCnxnSocketNetty");
        try (ClientX509Util names = new ClientX509Util()) {
            set(config, names.getSslTruststoreLocationProperty(), uri.file("ca"));
            set(config, names.getSslTruststorePasswdProperty(), uri.passwordOf("ca"));
            set(config, names.getSslKeystoreLocationProperty(), uri.file("identity"));
            set(config, names.getSslKeystorePasswdProperty(), uri.passwordOf("identity"));
        }
        return config;
    }

    private static void set(ZKClientConfig config, String property, @Nullable Object value) {
        if (value != null) {
            config.setProperty(property, value.toString());
        }
    }

    /**
     * If TLS is requested, checks that its files can be used.
     *
     * @throws io.leasehold.StoreAccessException if they cannot
     */
    void requireFiles() {
        if (uri.tls()) {
            TlsCheck.requireFiles(uri, config);
        }
    }

    /**
     * If TLS is requested, checks that it works with a member. If it does not, the driver would retry forever.
     *
     * @throws io.leasehold.LockStoreException if it does not work
     */
    void requireTls() {
        if (uri.tls()) {
            TlsCheck.require(uri, config);
        }
    }

    @Override
    public SessionCalls open(int askedMillis, Watcher events) throws IOException {
        ZooKeeper handle = new ZooKeeper(uri.connectString(), askedMillis, events, config);
        String credentials = uri.credentials();
        if (credentials != null) {
            handle.addAuthInfo("digest", credentials.getBytes(StandardCharsets.UTF_8));
        }
        return new Calls(handle, acl);
    }

    private record Calls(ZooKeeper handle, List<ACL> acl) implements SessionCalls {
        @Override
        public long id() {
            return handle.getSessionId();
        }

        @Override
        public int timeoutMillis() {
            return handle.getSessionTimeout();
        }

        private static <T> CompletableFuture<T> answer(Consumer<CompletableFuture<T>> request) {
            CompletableFuture<T> answer = new CompletableFuture<>();
            request.accept(answer);
            return answer;
        }

        @Override
        public CompletableFuture<Created> create(String path, byte[] data, CreateMode mode) {
            return answer(made -> handle.create(
                    path,
                    data,
                    acl,
                    mode,
                    (rc, asked, context, name, stat) ->
                            complete(made, rc, asked, () -> new Created(name, stat.getCzxid())),
                    null));
        }

        @Override
        public CompletableFuture<List<String>> children(String path) {
            return answer(found -> handle.getChildren(
                    path, false, (rc, asked, context, children) -> complete(found, rc, asked, () -> children), null));
        }

        @Override
        public CompletableFuture<Void> sync(String path) {
            return answer(
                    synced -> handle.sync(path, (rc, asked, context) -> complete(synced, rc, asked, () -> null), null));
        }

        @Override
        public CompletableFuture<Node> read(String path, boolean watch) {
            return answer(found -> handle.getData(
                    path,
                    watch,
                    (rc, asked, context, data, stat) -> complete(
                            found,
                            rc,
                            asked,
                            () -> new Node(
                                    data == null ? new byte[0] : data, stat.getCzxid(), stat.getEphemeralOwner())),
                    null));
        }

        @Override
        public CompletableFuture<Void> write(String path, byte[] data, int version) {
            return answer(written -> handle.setData(
                    path, data, version, (rc, asked, context, stat) -> complete(written, rc, asked, () -> null), null));
        }

        @Override
        public CompletableFuture<Void> delete(String path) {
            return answer(deleted ->
                    handle.delete(path, -1, (rc, asked, context) -> complete(deleted, rc, asked, () -> null), null));
        }

        @Override
        public CompletableFuture<OptionalInt> firstMissing(List<String> paths) {
            return answer(found -> handle.multi(
                    paths.stream().map(path -> Op.check(path, -1)).toList(),
                    (rc, asked, context, results) -> {
                        boolean isMissing = rc == KeeperException.Code.NONODE.intValue() && results != null;
                        complete(
                                found,
                                isMissing ? KeeperException.Code.OK.intValue() : rc,
                                paths.get(0),
                                () -> isMissing ? firstMissingOf(results) : OptionalInt.empty());
                    },
                    null));
        }

        private static OptionalInt firstMissingOf(List<OpResult> results) {
            int missing = 0;
            while (!(results.get(missing) instanceof OpResult.ErrorResult result
                    && result.getErr() == KeeperException.Code.NONODE.intValue())) {
                missing++;
            }
            return OptionalInt.of(missing);
        }

        private static <T> void complete(CompletableFuture<T> future, int rc, String path, Supplier<T> value) {
            KeeperException.Code code = KeeperException.Code.get(rc);
            if (code == KeeperException.Code.OK) {
                future.complete(value.get());
            } else {
                future.completeExceptionally(KeeperException.create(code, path));
            }
        }

        /** Closes in a separate thread, because a thread of the driver must not wait for itself. */
        @Override
        public CompletableFuture<?> close(int patienceMillis) {
            CompletableFuture<@Nullable Void> closed = new CompletableFuture<>();
            Runnable end = () -> {
                try {
                    handle.close(patienceMillis);
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                } finally {
                    closed.complete(null);
                }
            };
            Thread closer = new Thread(end, "leasehold-zookeeper-close");
            closer.setDaemon(true);
            try {
                closer.start();
            } catch (OutOfMemoryError noThread) {
                // A session that is not closed keeps its locks as long as this process lives.
                end.run();
            }
            return closed;
        }
    }
}
