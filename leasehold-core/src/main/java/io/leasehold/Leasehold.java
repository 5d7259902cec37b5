package io.leasehold;

import io.leasehold.engine.CallersStack;
import io.leasehold.engine.EngineClient;
import io.leasehold.engine.LazyStore;
import io.leasehold.engine.StoreLookup;
import io.leasehold.engine.SystemLockRuntime;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.StoreUri;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.Executor;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * Creates clients.
 *
 * <pre>{@code
 * try (LockClient locks = Leasehold.connect("redis://localhost:6379");
 *         Lease lease = locks.named("order:1001").acquire()) {
 *     orders.write(order.paid(), lease.fencingToken());
 * }
 * }</pre>
 */
public final class Leasehold {

    private Leasehold() {}

    /**
     * Connects to the store named by the URI, with default options, and verifies that it answers.
     *
     * @throws IllegalArgumentException if the URI is malformed, or no artefact on the class path supports its scheme
     * @throws LockStoreException if the store cannot be reached or refuses
     */
    public static LockClient connect(String uri) {
        return builder().store(uri).connect();
    }

    /** Starts the configuration of a client. */
    public static Builder builder() {
        return new Builder();
    }

    /** The configuration of a client. Not thread-safe; each {@link #connect} creates a client. */
    public static final class Builder {

        private static final String NOT_LAZILY = "cannot be opened lazily: its time limits are known only after it has"
                + " been opened, and it opens even without some of its nodes; use connect()";

        private @Nullable String uri;
        private @Nullable Function<? super LockRuntime, ? extends LockStore> opener;
        private @Nullable CredentialsProvider credentials;
        private boolean existing;
        private @Nullable LockOptions defaults;
        private UnaryOperator<LockOptions> change = UnaryOperator.identity();
        private String label = "";
        private final List<LockListener> listeners = new ArrayList<>();
        private final List<Guarantee> required = new ArrayList<>();
        private boolean acquisitionStacks;
        private @Nullable LockRuntime runtime;
        private @Nullable Executor workers;
        private @Nullable Duration exitPatience;

        private Builder() {}

        /** Sets the store by its URI; the client opens and closes it. */
        public Builder store(String uri) {
            this.uri = Objects.requireNonNull(uri, "uri");
            this.opener = null;
            return this;
        }

        /**
         * Sets the provider of user and password for every connection to the store of {@link #store(String)}. It
         * replaces credentials in the URI, so that they can change while leases are held.
         */
        public Builder credentials(CredentialsProvider credentials) {
            this.credentials = Objects.requireNonNull(credentials, "credentials");
            return this;
        }

        /**
         * Opens the store of {@link #store(String)} as it is, and creates no database, table, node or key: for clients that
         * only look at locks or release them by force. A store that does not exist, in which therefore no lock was ever
         * held, is refused with a {@link StoreUnavailableException}, also later, if the store has to be reopened. SQLite
         * still keeps its own files next to an open database. Redis writes nothing when it is opened: there, an unused
         * server is a store without locks.
         */
        public Builder existing() {
            this.existing = true;
            return this;
        }

        /** Sets a custom store, for this client only; the client closes it. */
        public Builder store(LockStore store) {
            Objects.requireNonNull(store, "store");
            return store(world -> store);
        }

        /** Sets a custom store that needs the client's runtime; {@link #connect} opens it, and the client closes it. */
        public Builder store(Function<? super LockRuntime, ? extends LockStore> opener) {
            this.opener = Objects.requireNonNull(opener, "opener");
            this.uri = null;
            return this;
        }

        /**
         * Sets the options of all locks of this client, unless changed with {@link DistributedLock#with}. The default
         * is {@link LockOptions#defaults()}, with a ttl no longer than the store accepts.
         */
        public Builder defaults(LockOptions defaults) {
            this.defaults = Objects.requireNonNull(defaults, "defaults");
            return this;
        }

        /**
         * Changes the options of all locks of this client, in addition to earlier calls. Options that the change leaves
         * alone stay as they are: without {@link #defaults(LockOptions)} and {@link #connectLazily}, the ttl is no longer
         * than the store accepts.
         */
        public Builder defaults(UnaryOperator<LockOptions> change) {
            Objects.requireNonNull(change, "change");
            UnaryOperator<LockOptions> before = this.change;
            this.change = options -> change.apply(before.apply(options));
            return this;
        }

        /**
         * Sets a part of the holder id for operators to read, such as the name of the application: up to 64 letters,
         * digits and {@code . _ -}.
         */
        public Builder label(String label) {
            if (!label.matches("[A-Za-z0-9._-]{0,64}")) {
                throw new IllegalArgumentException("label \"" + LockName.printable(label)
                        + "\" is not made of up to 64 letters, digits, '.', '_' and '-'");
            }
            this.label = label;
            return this;
        }

        /** Adds a listener. */
        public Builder listener(LockListener listener) {
            listeners.add(Objects.requireNonNull(listener, "listener"));
            return this;
        }

        /** Refuses to connect to a store that promises less than this. */
        public Builder require(Guarantee level) {
            required.add(Objects.requireNonNull(level, "level"));
            return this;
        }

        /**
         * Records the stack of each acquisition, so that the report of a lease that was dropped without a release can
         * show it. Costs some microseconds and a kilobyte or more per lease; enable it to find a leak.
         */
        public Builder recordAcquisitionStacks() {
            this.acquisitionStacks = true;
            return this;
        }

        /**
         * Sets the executor that runs the work of {@link Acquirable#holdWhile}. The default is a virtual thread for
         * each task if the JDK has them, else a growing pool; neither ever rejects a task for lack of capacity. The
         * caller shuts the executor down. The executor must run each task, or reject it with an exception: then the
         * lock is released, and the future that {@code holdWhile} returned completes with that exception. Tasks are
         * submitted from a callback thread, so an executor may run them there, or wait for capacity, without delaying
         * other tasks.
         */
        public Builder workExecutor(Executor executor) {
            this.workers = Objects.requireNonNull(executor, "executor");
            return this;
        }

        /** As {@link #releaseOnShutdown(Duration)}, for at most five seconds. */
        public Builder releaseOnShutdown() {
            return releaseOnShutdown(Duration.ofSeconds(5));
        }

        /**
         * Closes the client when the JVM exits in order: by {@code System.exit}, by its last thread, or by a SIGTERM or
         * SIGINT. Holders are notified first ({@link LossCause#CLIENT_CLOSED}: {@code isValid()} is false,
         * {@code onLost} is called, {@code interruptOnLoss} interrupts). All current holders, including those of
         * asynchronous forms, get up to half of {@code atMost} to release. Remaining holds are then ended at the store,
         * so that other clients need not wait for a ttl. This delays the exit by at most {@code atMost}, plus the time
         * that the store needs to close its connections: usually milliseconds, at SQL stores up to five seconds for an
         * unanswered transaction. By default, locks that are held at the exit end with their ttl, as they do when the
         * process is killed.
         *
         * <p>Shutdown hooks run concurrently: if another hook closes the data source or driver meanwhile, the releases
         * cannot be sent.
         */
        public Builder releaseOnShutdown(Duration atMost) {
            if (atMost.isNegative() || atMost.isZero()) {
                throw new IllegalArgumentException(
                        "releaseOnShutdown(" + Durations.text(atMost) + "); it must be positive");
            }
            this.exitPatience = atMost;
            return this;
        }

        /** Sets the source of time, threads and randomness, for tests in virtual time. The default is the system. */
        public Builder runtime(LockRuntime runtime) {
            this.runtime = Objects.requireNonNull(runtime, "runtime");
            return this;
        }

        /**
         * Connects and verifies that the store answers.
         *
         * @throws IllegalStateException if no store was set, or credentials or {@link #existing} were set for a store without a
         *     URI
         * @throws IllegalArgumentException if the URI is malformed, or contains credentials in addition to a provider;
         *     if no artefact on the class path supports its scheme; if the store accepts no credentials
         * @throws UnsafeStoreException if the store promises less than was required
         * @throws LockStoreException if the store cannot be reached or refuses
         */
        public LockClient connect() {
            return connected(opening());
        }

        /**
         * Returns a client at once and opens its store in the background, with retries until it is reached: for
         * applications that must start without the store. Until then, attempts wait as they do for an unreachable
         * store, until their patience ends, and {@link LockClient#guarantees} and {@link LockClient#maxTtl} are those
         * of no store yet. A refusal by {@link #connect} (too weak a store, a wrong password) is logged, and every
         * attempt fails with it; the store is tried again once a minute, and serves once it is mended. With a
         * {@link #credentials provider}, a refused log-in counts as an unreachable store, and is repeated after ten
         * seconds. If the ttl of the defaults is above the store's maximum, the first attempt fails: set
         * {@link #defaults(LockOptions)} accordingly.
         *
         * @throws IllegalStateException as {@link #connect}
         * @throws IllegalArgumentException as {@link #connect}; also for a {@code redlock:} store, which opens even if
         *     some of its nodes are unreachable. One that the application opens itself is refused like a store that is
         *     too weak
         */
        public LockClient connectLazily() {
            StoreUri parsed = uri == null ? null : StoreUri.parse(uri);
            if (parsed != null && parsed.scheme().equals("redlock")) {
                throw new IllegalArgumentException("a redlock: store " + NOT_LAZILY);
            }
            Function<LockRuntime, LockStore> opening = opening();
            CredentialsProvider secret = credentials;
            if (parsed != null) {
                StoreLookup.provider(parsed).check(parsed, secret);
            }
            String shown = parsed == null ? "of the application" : parsed.redacted();
            return connected(
                    world -> new LazyStore(world, shown, secret != null, () -> ofOneNode(opening.apply(world))));
        }

        /** Waits for the store's answers differ if they come from several nodes, so waiters must know that before. */
        private static LockStore ofOneNode(LockStore opened) {
            if (opened.isOfNodes()) {
                IllegalArgumentException refusal =
                        new IllegalArgumentException("store " + opened.description() + " " + NOT_LAZILY);
                closeAfter(refusal, opened::close);
                throw refusal;
            }
            return opened;
        }

        private LockClient connected(Function<LockRuntime, LockStore> storeIn) {
            LockRuntime world = runtime != null ? runtime : new SystemLockRuntime();
            LockStore opened = null;
            try {
                opened = storeIn.apply(world);
                EngineClient client = new EngineClient(
                        world, opened, defaultsFor(opened), label, List.copyOf(listeners), acquisitionStacks, workers);
                return exitPatience == null ? client : client.closedByExit(exitPatience);
            } catch (RuntimeException | Error e) {
                if (opened != null) {
                    closeAfter(e, opened::close);
                }
                closeAfter(e, world::close);
                if (e instanceof StoreUnavailableException down) {
                    throw CallersStack.brief(down);
                }
                if (e instanceof LockStoreException refused) {
                    throw CallersStack.given(refused);
                }
                CallersStack.given(e);
                throw e;
            }
        }

        /** Closes after a failure: an exception here hides neither the first failure nor the next step. */
        private static void closeAfter(Throwable failure, Runnable close) {
            try {
                close.run();
            } catch (RuntimeException | Error e) {
                failure.addSuppressed(e);
            }
        }

        /** Captures the current store and requirements; the returned function opens the store and checks them. */
        private Function<LockRuntime, LockStore> opening() {
            List<Guarantee> levels = List.copyOf(required);
            Function<? super LockRuntime, ? extends LockStore> own = opener;
            CredentialsProvider secret = credentials;
            boolean asItIs = existing;
            if (own != null && asItIs) {
                throw new IllegalStateException(
                        "existing() needs a store that is set by its URI; a custom store is opened"
                                + " by your own code");
            } else if (own != null && secret != null) {
                throw new IllegalStateException(
                        "credentials(…) needs a store that is set by its URI; pass the credentials"
                                + " of a custom store where you create it");
            } else if (own != null) {
                return world -> checked(levels, own.apply(world));
            } else if (uri == null) {
                throw new IllegalStateException("no store was set: call store(\"redis://…\") before connect()");
            }
            StoreUri parsed = StoreUri.parse(uri);
            return world -> checked(
                    levels,
                    asItIs ? StoreLookup.openExisting(parsed, secret, world) : StoreLookup.open(parsed, secret, world));
        }

        /** The default options fit the store: it must not refuse options that the caller did not set. */
        private LockOptions defaultsFor(LockStore opened) {
            LockOptions standard = defaults;
            if (standard == null) {
                LockOptions options = LockOptions.defaults();
                standard = options.ttl().compareTo(opened.maxTtl()) > 0 ? options.ttl(opened.maxTtl()) : options;
            }
            return Objects.requireNonNull(change.apply(standard), "the change of the defaults returned null");
        }

        /** Returns the store if it keeps the required promises; otherwise closes it and throws an exception. */
        private static LockStore checked(List<Guarantee> required, LockStore opened) {
            for (Guarantee level : required) {
                if (!opened.guarantees().covers(level)) {
                    String wanted = level.getClass().getSimpleName() + " " + level;
                    UnsafeStoreException refusal = new UnsafeStoreException(
                            "store " + opened.description() + " promises only " + opened.guarantees()
                                    + ", but the client requires " + wanted + ": use another store, or require less",
                            null);
                    closeAfter(refusal, opened::close);
                    throw refusal;
                }
            }
            return opened;
        }
    }
}
