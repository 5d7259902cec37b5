package io.leasehold.etcd;

import static org.assertj.core.api.Assertions.assertThat;

import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.ForwardingClientCall;
import io.grpc.MethodDescriptor;
import io.leasehold.LockName;
import io.leasehold.LossCause;
import io.leasehold.engine.SystemLockRuntime;
import io.leasehold.servers.EtcdServer;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import io.leasehold.spi.StoreUri;
import io.leasehold.spi.toolkit.EntryData;
import io.leasehold.spi.toolkit.QueuePlace;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** A holder's key is watched once, and no watch is left behind. */
@Tag("full")
class OwnWatchTest {

    private static final long TTL_NANOS = Duration.ofSeconds(30).toNanos();
    private static final long LIMIT_NANOS = Duration.ofSeconds(20).toNanos();

    /** Delays the first watch until it is released. */
    private static final class SlowWatch implements ClientInterceptor {
        private final CountDownLatch reached = new CountDownLatch(1);
        private final CountDownLatch letGo = new CountDownLatch(1);
        private final CountDownLatch ended = new CountDownLatch(1);

        @Override
        public <Q, A> ClientCall<Q, A> interceptCall(MethodDescriptor<Q, A> method, CallOptions options, Channel next) {
            if ("etcdserverpb.Watch/Watch".equals(method.getFullMethodName()) && letGo.getCount() > 0) {
                reached.countDown();
                try {
                    letGo.await(60, TimeUnit.SECONDS);
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                }
            }
            return new ForwardingClientCall.SimpleForwardingClientCall<>(next.newCall(method, options)) {
                @Override
                public void halfClose() {
                    ended.countDown();
                    super.halfClose();
                }

                @Override
                public void cancel(@Nullable String message, @Nullable Throwable cause) {
                    ended.countDown();
                    super.cancel(message, cause);
                }
            };
        }
    }

    private static void until(BooleanSupplier condition) {
        long start = System.nanoTime();
        while (!condition.getAsBoolean()) {
            assertThat(System.nanoTime() - start)
                    .as("not in time")
                    .isLessThan(Duration.ofSeconds(30).toNanos());
            LockSupport.parkNanos(20_000_000);
        }
    }

    /** Whether a thread waits at the driver's lock with another watch. */
    private static boolean anotherIsOnItsWay() {
        return Thread.getAllStackTraces().entrySet().stream()
                .anyMatch(one -> one.getKey().getState() == Thread.State.BLOCKED
                        && Arrays.stream(one.getValue())
                                .anyMatch(frame -> frame.getClassName().startsWith(QueueEntry.class.getName())));
    }

    /** The number of watches that the server keeps. */
    static long watchers(EtcdServer server) {
        try (var in = URI.create("http://127.0.0.1:" + server.port() + "/metrics")
                .toURL()
                .openStream()) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8)
                    .lines()
                    .filter(line -> line.startsWith("etcd_debugging_mvcc_watcher_total "))
                    .mapToLong(line -> (long) Double.parseDouble(line.substring(line.lastIndexOf(' ') + 1)))
                    .sum();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Test
    void aRenewalWhileTheWatchIsBeingMadeMakesNoSecondOneThatStays() throws Exception {
        SlowWatch slow = new SlowWatch();
        LockRuntime runtime = new SystemLockRuntime();
        try (EtcdServer server = EtcdTckTest.startOrSkip()) {
            EtcdUri uri = EtcdUri.parse(StoreUri.parse("etcd://127.0.0.1:" + server.port() + "/watch"));
            EtcdStore store = new EtcdStore(uri, runtime, List.of(slow));
            LockName lock = LockName.of("watched");
            OwnerToken owner = OwnerToken.draw(runtime);
            assertThat(store.acquire(AcquireRequest.exclusive(List.of(lock), owner, "tester", TTL_NANOS, LIMIT_NANOS))
                            .get(60, TimeUnit.SECONDS))
                    .isInstanceOf(AcquireReply.Granted.class);
            assertThat(slow.reached.await(60, TimeUnit.SECONDS)).isTrue();
            RenewBatch batch = new RenewBatch(List.of(new RenewBatch.Item(lock, owner, TTL_NANOS)), LIMIT_NANOS);
            CompletableFuture<RenewReply> renewal = store.renew(batch);
            until(() -> renewal.isDone() || anotherIsOnItsWay());
            slow.letGo.countDown();
            assertThat(renewal.get(60, TimeUnit.SECONDS).items().get(0)).isInstanceOf(RenewReply.Renewed.class);
            until(() -> watchers(server) >= 1);
            for (int i = 0; i < 3; i++) {
                assertThat(store.renew(batch).get(60, TimeUnit.SECONDS).items().get(0))
                        .isInstanceOf(RenewReply.Renewed.class);
            }
            LockSupport.parkNanos(Duration.ofMillis(500).toNanos());
            assertThat(watchers(server)).as("watches while it holds").isEqualTo(1);
            assertThat(store.release(new ReleaseRequest(
                                    List.of(lock), owner, 0, ReleaseRequest.Kind.RELEASE, LIMIT_NANOS))
                            .get(60, TimeUnit.SECONDS))
                    .isInstanceOf(ReleaseReply.Released.class);
            until(() -> watchers(server) == 0);
            store.close();
        } finally {
            runtime.close();
        }
    }

    /** It ends at the moment between the check whether it holds and the watch. */
    @Test
    void noWatchStaysOfAHoldThatHasEnded() throws Exception {
        LockRuntime runtime = new SystemLockRuntime();
        SlowWatch slow = new SlowWatch();
        try (EtcdServer server = EtcdTckTest.startOrSkip()) {
            EtcdUri uri = EtcdUri.parse(StoreUri.parse("etcd://127.0.0.1:" + server.port()));
            try (Etcd etcd = new Etcd(uri, null, List.of(slow))) {
                QueuePlace<Long> place = new QueuePlace<>(LockName.of("own"), uri.toString());
                place.made(1L);
                place.granted(1L);
                AttemptKey key = new AttemptKey(
                        Keys.bytes("own"),
                        Keys.bytes("queue"),
                        new EntryData("holder", null, 0),
                        new KeyLease(etcd, runtime, uri, new LeasePool(etcd, runtime)),
                        place);
                OwnKey own = new OwnKey(etcd, runtime, key, new NobodyHears());
                Thread guarding = new Thread(() -> own.guard(1, 1), "guards-the-key");
                guarding.start();
                assertThat(slow.reached.await(60, TimeUnit.SECONDS)).isTrue();
                place.end();
                slow.letGo.countDown();
                guarding.join();
                assertThat(slow.ended.await(30, TimeUnit.SECONDS))
                        .as("the watch was ended")
                        .isTrue();
                until(() -> OwnWatchTest.watchers(server) == 0);
            }
        } finally {
            runtime.close();
        }
    }

    private static final class NobodyHears implements OwnKey.Listener {
        @Override
        public void taken(long made, LossCause cause) {}

        @Override
        public void suspended() {}
    }

    @Test
    void aWatchThatIsClosedWhileItIsBeingMadeDoesNotStay() throws Exception {
        SlowWatch slow = new SlowWatch();
        try (EtcdServer server = EtcdTckTest.startOrSkip();
                Etcd etcd = new Etcd(
                        EtcdUri.parse(StoreUri.parse("etcd://127.0.0.1:" + server.port())), null, List.of(slow))) {
            KeyWatch watch = new KeyWatch(etcd, Keys.bytes("key"), false, (which, what) -> {});
            Thread making = new Thread(() -> watch.begin(1), "makes-the-watch");
            making.start();
            assertThat(slow.reached.await(60, TimeUnit.SECONDS)).isTrue();
            watch.close();
            slow.letGo.countDown();
            making.join();
            assertThat(slow.ended.await(30, TimeUnit.SECONDS))
                    .as("the watch was ended")
                    .isTrue();
        }
    }
}
