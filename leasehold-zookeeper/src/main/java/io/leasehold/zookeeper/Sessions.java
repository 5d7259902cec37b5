package io.leasehold.zookeeper;

import io.leasehold.StoreUnavailableException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.Predicate;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.client.ZKClientConfig;
import org.apache.zookeeper.common.ClientX509Util;
import org.apache.zookeeper.common.ZKConfig;
import org.apache.zookeeper.data.ACL;
import org.jspecify.annotations.Nullable;

/**
 * The sessions of one store: one for each session timeout, since the ensemble keeps the locks of a dead process for that
 * long; and one for lists, once locks are listed. Ended ones are replaced when they are next needed.
 *
 * <p>Safe for use by any thread; what changes is guarded by {@code this}.
 */
final class Sessions {

    private static final int USUAL_NUMBER = 8;
    private static final int CLOSE_MILLIS = 2_000;
    /** The ttl whose session timeout the session for lists has: the default one of locks. */
    private static final long LISTS_TTL_NANOS = Duration.ofSeconds(30).toNanos();

    /**
     * What the children of one node may take: some hundred thousand locks, or waiters of one lock. The driver's own limit is
     * 1 MB, and it ends the connection where an answer is larger.
     */
    private static final int ANSWER_BYTES = 64 * 1024 * 1024;

    private final ZooKeeperUri uri;
    private final Session.Listener listener;
    private final Predicate<Session> inUse;
    private final List<ACL> acl;
    private final ZKClientConfig config;
    private final Map<Integer, Session> byTimeout = new HashMap<>();
    private @Nullable Session forLists;
    private boolean closed;

    Sessions(ZooKeeperUri uri, Session.Listener listener, Predicate<Session> inUse) {
        this.uri = uri;
        this.listener = listener;
        this.inUse = inUse;
        this.acl = uri.credentials() == null ? ZooDefs.Ids.OPEN_ACL_UNSAFE : ZooDefs.Ids.CREATOR_ALL_ACL;
        this.config = config(uri);
    }

    private static ZKClientConfig config(ZooKeeperUri uri) {
        ZKClientConfig config = new ZKClientConfig();
        config.setProperty(ZKClientConfig.ENABLE_CLIENT_SASL_KEY, "false");
        int answerBytes = Math.max(ANSWER_BYTES, config.getInt(ZKConfig.JUTE_MAXBUFFER, ANSWER_BYTES));
        config.setProperty(ZKConfig.JUTE_MAXBUFFER, Integer.toString(answerBytes));
        if (!uri.tls()) {
            return config;
        }
        config.setProperty(ZKClientConfig.SECURE_CLIENT, "true");
        config.setProperty(ZKClientConfig.ZOOKEEPER_CLIENT_CNXN_SOCKET, "org.apache.zookeeper.ClientCnxnSocketNetty");
        try (ClientX509Util names = new ClientX509Util()) {
            ZooKeeperUri.KeyFile ca = uri.keyFile("ca");
            if (ca != null) {
                config.setProperty(
                        names.getSslTruststoreLocationProperty(), ca.path().toString());
                set(config, names.getSslTruststorePasswdProperty(), ca.password());
            }
            ZooKeeperUri.KeyFile identity = uri.keyFile("identity");
            if (identity != null) {
                config.setProperty(
                        names.getSslKeystoreLocationProperty(), identity.path().toString());
                set(config, names.getSslKeystorePasswdProperty(), identity.password());
            }
        }
        return config;
    }

    /**
     * Makes sure that TLS, if asked for, can work with a member.
     *
     * @throws io.leasehold.StoreAccessException if not
     */
    void checkTls() {
        if (uri.tls()) {
            TlsCheck.require(uri, config);
        }
    }

    private static void set(ZKClientConfig config, String property, @Nullable String value) {
        if (value != null) {
            config.setProperty(property, value);
        }
    }

    /** A connected session in which a lease with this ttl can live. */
    CompletableFuture<Session> forTtl(long ttlNanos) {
        int millis = millisFor(ttlNanos);
        Session idle = null;
        Session session;
        synchronized (this) {
            if (closed) {
                return closed();
            }
            session = byTimeout.get(millis);
            if (session == null || session.isEnded()) {
                if (byTimeout.size() >= USUAL_NUMBER) {
                    idle = takeIdle();
                }
                session = Session.open(uri, millis, acl, config, listener);
                byTimeout.put(millis, session);
            }
        }
        if (idle != null) {
            closeAside(List.of(idle));
        }
        return session.connected();
    }

    /** A connected session in which no lease lives: a long answer delays none, and one that is too long endangers none. */
    CompletableFuture<Session> forLists() {
        Session session;
        synchronized (this) {
            if (closed) {
                return closed();
            }
            session = forLists;
            if (session == null || session.isEnded()) {
                session = Session.open(uri, millisFor(LISTS_TTL_NANOS), acl, config, listener);
                forLists = session;
            }
        }
        return session.connected();
    }

    private int millisFor(long ttlNanos) {
        Duration fixed = uri.sessionTimeout();
        return fixed == null ? Session.timeoutMillisFor(ttlNanos, uri.tickTime()) : (int) fixed.toMillis();
    }

    private CompletableFuture<Session> closed() {
        return CompletableFuture.failedFuture(new StoreUnavailableException("the store " + uri + " is closed", null));
    }

    private @Nullable Session takeIdle() {
        for (Session session : byTimeout.values()) {
            if (!inUse.test(session)) {
                byTimeout.remove(session.askedMillis(), session);
                return session;
            }
        }
        return null;
    }

    synchronized void forget(Session session) {
        byTimeout.remove(session.askedMillis(), session);
    }

    /** Ends all sessions, and with them whatever the ensemble still keeps for them. */
    void close() {
        List<Session> all;
        synchronized (this) {
            closed = true;
            all = new ArrayList<>(byTimeout.values());
            byTimeout.clear();
            if (forLists != null) {
                all.add(forLists);
            }
        }
        List<Thread> closers = closeAside(all);
        try {
            for (Thread closer : closers) {
                closer.join(CLOSE_MILLIS);
            }
        } catch (InterruptedException e) {
            // The sessions end all the same, at the latest with their timeout.
            Thread.currentThread().interrupt();
        }
    }

    /** In threads of their own, for the driver's own may not wait for itself. */
    private static List<Thread> closeAside(List<Session> sessions) {
        List<Thread> closers = new ArrayList<>();
        for (Session session : sessions) {
            Thread closer = new Thread(() -> session.close(CLOSE_MILLIS), "leasehold-zookeeper-close");
            closer.setDaemon(true);
            closer.start();
            closers.add(closer);
        }
        return closers;
    }
}
