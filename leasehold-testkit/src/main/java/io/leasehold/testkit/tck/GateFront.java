package io.leasehold.testkit.tck;

import io.leasehold.LockListener;
import io.leasehold.LockName;
import io.leasehold.LossCause;
import io.leasehold.StoreUnavailableException;
import io.leasehold.node.LockNode;
import io.leasehold.node.NodeReply;
import io.leasehold.node.SingleNodeStore;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.ExportReply;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.HandOver;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import io.leasehold.spi.StoreSignals;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A gate in front of a store that is reached without a socket. For a node, all its exchanges pass the gate. For a whole
 * store, its replies pass the gate, and its own threads pause between two statements for as long as a reply would take.
 */
public final class GateFront implements StoreFront {

    private static final Set<String> VERBS =
            Set.of("probe", "acquire", "birth", "renew", "release", "export", "resume", "downgrade");

    private final Function<LockRuntime, LockStore> opener;
    private final ScheduledExecutorService later = Executors.newSingleThreadScheduledExecutor(task -> {
        Thread thread = new Thread(task, "tck-gate");
        thread.setDaemon(true);
        return thread;
    });

    // Guarded by this.
    private long delayNanos;
    private boolean holdsRequests;
    private boolean holdsReplies;
    private long requests;
    /** How often everything that stood still was broken. */
    private int breaks;

    private List<Held> held = new ArrayList<>();

    /** A message that waits at the gate, with its delivery and its failure. */
    private record Held(Runnable delivery, Runnable failure) {}

    private GateFront(Function<GateFront, Function<LockRuntime, LockStore>> opener) {
        this.opener = opener.apply(this);
    }

    /** Creates a gate between this node and the stores that are built on it. */
    public static GateFront before(LockNode node) {
        return new GateFront(gate -> runtime -> new SingleNodeStore(gate.around(LockNode.class, node), runtime));
    }

    /** Creates a gate between nodes and the stores that consist of them. */
    public static GateFront before(
            List<? extends LockNode> nodes, Function<List<LockNode>, Function<LockRuntime, LockStore>> opener) {
        return new GateFront(gate -> opener.apply(
                nodes.stream().map(node -> gate.around(LockNode.class, node)).toList()));
    }

    /**
     * Creates a gate around stores with their own threads.
     *
     * @param thread the prefix of the names of those threads
     */
    public static GateFront around(Function<LockRuntime, LockStore> opener, String thread) {
        return new GateFront(
                gate -> runtime -> gate.around(LockStore.class, opener.apply(gate.pausing(runtime, thread)), false));
    }

    @Override
    public LockStore open(LockRuntime runtime) {
        return opener.apply(runtime);
    }

    @Override
    public synchronized void delayReplies(Duration delay) {
        delayNanos = delay.toNanos();
    }

    @Override
    public synchronized void holdReplies() {
        holdsReplies = true;
    }

    @Override
    public synchronized void holdRequests() {
        holdsRequests = true;
    }

    @Override
    public void resume() {
        open(false, Duration.ZERO).forEach(one -> later.execute(one.delivery()));
    }

    private synchronized List<Held> open(boolean broken, Duration thenDelay) {
        delayNanos = thenDelay.toNanos();
        holdsRequests = false;
        holdsReplies = false;
        if (broken) {
            breaks++;
        }
        List<Held> waiting = held;
        held = new ArrayList<>();
        notifyAll();
        return waiting;
    }

    @Override
    public void breakWhatBeginsWithin(Duration span, Duration thenDelay) {
        holdReplies();
        TckBench.sleepUntil(System.nanoTime(), span);
        open(true, thenDelay).forEach(one -> later.execute(one.failure()));
    }

    @Override
    public synchronized long requests() {
        return requests;
    }

    @Override
    public void close() {
        resume();
        later.shutdown();
    }

    // ---- exchanges

    private <T> T around(Class<T> type, T target) {
        return around(type, target, true);
    }

    private <T> T around(Class<T> type, T target, boolean delays) {
        Map<StoreSignals, StoreSignals> listeners = new ConcurrentHashMap<>();
        return type.cast(Proxy.newProxyInstance(
                GateFront.class.getClassLoader(), new Class<?>[] {type}, (proxy, method, arguments) -> {
                    if (arguments != null && arguments.length == 1 && arguments[0] instanceof StoreSignals listener) {
                        StoreSignals gated = listeners.computeIfAbsent(listener, one -> new GatedSignals(one, delays));
                        return call(target, method, new Object[] {gated});
                    }
                    return VERBS.contains(method.getName())
                            ? exchange(target, method, arguments, delays)
                            : call(target, method, arguments);
                }));
    }

    private Object exchange(Object target, Method method, Object[] arguments, boolean delays) {
        CompletableFuture<Object> answer = new CompletableFuture<>();
        Runnable asking = () -> ask(target, method, arguments, delays, answer);
        synchronized (this) {
            requests++;
            if (holdsRequests) {
                held.add(new Held(asking, () -> answer.complete(lost(method, arguments))));
                return answer;
            }
        }
        asking.run();
        return answer;
    }

    private void ask(
            Object target, Method method, Object[] arguments, boolean delays, CompletableFuture<Object> answer) {
        CompletableFuture<?> asked;
        try {
            asked = Objects.requireNonNull((CompletableFuture<?>) call(target, method, arguments), "reply");
        } catch (Throwable e) {
            answer.completeExceptionally(e);
            return;
        }
        asked.whenComplete((reply, error) -> {
            Runnable delivery = () -> {
                if (error != null) {
                    answer.completeExceptionally(error);
                } else {
                    answer.complete(reply);
                }
            };
            pass(delays, delivery, () -> answer.complete(lost(method, arguments)));
        });
    }

    private void pass(boolean delays, Runnable delivery, Runnable failure) {
        long waitNanos;
        synchronized (this) {
            if (holdsReplies) {
                held.add(new Held(delivery, failure));
                return;
            }
            waitNanos = delays ? delayNanos : 0;
        }
        if (waitNanos == 0) {
            delivery.run();
        } else {
            later.schedule(delivery, waitNanos, TimeUnit.NANOSECONDS);
        }
    }

    private static Object lost(Method method, Object[] arguments) {
        StoreUnavailableException error = new StoreUnavailableException("the connection was reset", null);
        return switch (method.getName()) {
            case "renew" -> RenewReply.failed((RenewBatch) arguments[0], error);
            case "release" -> new ReleaseReply.Failed(FailureKind.UNKNOWN, error);
            case "export" -> new ExportReply.Failed(FailureKind.UNKNOWN, error);
            case "acquire", "resume", "downgrade" ->
                method.getDeclaringClass() == LockStore.class
                        ? new AcquireReply.Failed(FailureKind.UNKNOWN, error, 0)
                        : new NodeReply.Failed(FailureKind.UNKNOWN, error);
            default -> new NodeReply.Failed(FailureKind.UNKNOWN, error);
        };
    }

    private static @Nullable Object call(Object target, Method method, Object @Nullable [] arguments) throws Throwable {
        try {
            return method.invoke(target, arguments);
        } catch (InvocationTargetException e) {
            throw e.getCause();
        }
    }

    /** A signal of the store passes as a reply does. */
    private final class GatedSignals implements StoreSignals {
        private final StoreSignals listener;
        private final boolean delays;

        GatedSignals(StoreSignals listener, boolean delays) {
            this.listener = listener;
            this.delays = delays;
        }

        private void say(Runnable message) {
            pass(delays, message, () -> {});
        }

        @Override
        public void wake(LockName name) {
            say(() -> listener.wake(name));
        }

        @Override
        public void handedOver(HandOver handOver) {
            say(() -> listener.handedOver(handOver));
        }

        @Override
        public void lost(OwnerToken owner, LossCause cause) {
            say(() -> listener.lost(owner, cause));
        }

        @Override
        public void takenAway(LockName name) {
            say(() -> listener.takenAway(name));
        }

        @Override
        public void suspended(OwnerToken owner) {
            say(() -> listener.suspended(owner));
        }

        @Override
        public void reconnected() {
            listener.reconnected();
        }

        @Override
        public void nodeChanged(LockListener.NodeChanged event) {
            listener.nodeChanged(event);
        }
    }

    // ---- pauses of a store's own thread

    private LockRuntime pausing(LockRuntime runtime, String thread) {
        return (LockRuntime) Proxy.newProxyInstance(
                GateFront.class.getClassLoader(), new Class<?>[] {LockRuntime.class}, (proxy, method, arguments) -> {
                    // A store's clock is the monotonic one, and then the wall clock: the pause comes behind the first.
                    if (method.getName().equals("wallMillis")
                            && Thread.currentThread().getName().startsWith(thread)) {
                        standStill();
                    }
                    return call(runtime, method, arguments);
                });
    }

    private void standStill() throws InterruptedException {
        long waitNanos;
        synchronized (this) {
            int before = breaks;
            while (holdsRequests || holdsReplies) {
                wait();
            }
            if (breaks > before) {
                throw new StoreUnavailableException("the disk did not answer", null);
            }
            waitNanos = delayNanos;
        }
        TckBench.sleepUntil(System.nanoTime(), Duration.ofNanos(waitNanos));
    }
}
