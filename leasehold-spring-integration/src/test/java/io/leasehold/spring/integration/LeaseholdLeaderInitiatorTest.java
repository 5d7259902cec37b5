package io.leasehold.spring.integration;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.event.EventListener;
import org.springframework.integration.leader.AbstractCandidate;
import org.springframework.integration.leader.Context;
import org.springframework.integration.leader.event.AbstractLeaderEvent;
import org.springframework.integration.leader.event.DefaultLeaderEventPublisher;
import org.springframework.integration.leader.event.LeaderEventPublisher;

/** Tests of candidates of Spring Integration in an election. */
@Tag("quick")
@Timeout(120)
class LeaseholdLeaderInitiatorTest {

    private final LockClient client = Leasehold.connect("memory:");
    private final BlockingQueue<String> told = new LinkedBlockingQueue<>();

    @AfterEach
    void close() {
        client.close();
    }

    private class Noting extends AbstractCandidate {
        private final CountDownLatch blocked;
        private volatile Context context;

        Noting(String id, CountDownLatch blocked) {
            super(id, "scheduler");
            this.blocked = blocked;
        }

        @Override
        public void onGranted(Context granted) throws InterruptedException {
            context = granted;
            told.add(getId() + " granted " + granted.isLeader() + " " + granted.getRole());
            blocked.await();
            if (getId().startsWith("broken")) {
                throw new IllegalStateException("made by the test");
            }
        }

        @Override
        public void onRevoked(Context revoked) {
            told.add(getId() + " revoked " + revoked.isLeader());
        }
    }

    private static final CountDownLatch OPEN = new CountDownLatch(0);

    private LeaseholdLeaderInitiator initiator(Noting candidate) {
        return new LeaseholdLeaderInitiator(client.election("scheduler"), candidate);
    }

    private String next() throws InterruptedException {
        return told.poll(60, TimeUnit.SECONDS);
    }

    @Test
    void candidatesAreGrantedAndRevokedInTurn() throws Exception {
        Noting a = new Noting("a", OPEN);
        LeaseholdLeaderInitiator first = initiator(a);
        LeaseholdLeaderInitiator second = initiator(new Noting("b", OPEN));
        assertThat(first.isRunning()).isFalse();
        first.start();
        first.start();
        assertThat(next()).isEqualTo("a granted true scheduler");
        assertThat(first.isRunning()).isTrue();
        assertThat(first.context()).containsSame(a.context);
        second.start();
        assertThat(second.context()).isEmpty();
        a.context.yield();
        assertThat(next()).isEqualTo("a revoked false");
        assertThat(next()).isEqualTo("b granted true scheduler");
        a.context.yield();
        assertThat(second.context()).as("a former leader has nothing to yield").isPresent();
        second.stop();
        assertThat(next()).isEqualTo("b revoked false");
        assertThat(next()).isEqualTo("a granted true scheduler");
        first.destroy();
        assertThat(next()).isEqualTo("a revoked false");
        assertThat(first.context()).isEmpty();
        assertThat(client.election("scheduler").leader()).isEmpty();
        assertThat(told).isEmpty();
    }

    @Test
    void aLossIsToldAndNothingIsGrantedBesideACallbackThatStillRuns() throws Exception {
        CountDownLatch blocked = new CountDownLatch(1);
        LeaseholdLeaderInitiator first = initiator(new Noting("a", blocked));
        first.start();
        assertThat(next()).isEqualTo("a granted true scheduler");
        assertThat(client.admin().forceRelease("scheduler", null)).isTrue();
        assertThat(next()).isEqualTo("a revoked false");
        assertThat(told.poll(200, TimeUnit.MILLISECONDS)).isNull();
        blocked.countDown();
        assertThat(next()).isEqualTo("a granted true scheduler");
        first.stop();
        assertThat(next()).isEqualTo("a revoked false");
    }

    @Test
    void aCandidateThatThrowsIsRevokedAndGrantedAgain() throws Exception {
        LeaseholdLeaderInitiator broken = initiator(new Noting("broken", OPEN));
        broken.start();
        assertThat(next()).isEqualTo("broken granted true scheduler");
        assertThat(next()).isEqualTo("broken revoked false");
        assertThat(next()).isEqualTo("broken granted true scheduler");
        broken.stop();
    }

    @Test
    void itStartsAndStopsWithItsApplicationAndPublishesEvents() throws Exception {
        try (AnnotationConfigApplicationContext context = new AnnotationConfigApplicationContext()) {
            context.registerBean("events", Events.class, () -> new Events(told));
            context.registerBean(LeaseholdLeaderInitiator.class, () -> initiator(new Noting("a", OPEN)));
            context.refresh();
            assertThat(next()).isEqualTo("a granted true scheduler");
            assertThat(next()).isEqualTo("OnGrantedEvent scheduler");
        }
        assertThat(next()).isEqualTo("a revoked false");
        assertThat(client.election("scheduler").leader()).isEmpty();
    }

    private LeaderEventPublisher publishing(Runnable failure) {
        return new LeaderEventPublisher() {
            @Override
            public void publishOnGranted(Object source, Context context, String role) {
                told.add("published granted");
                failure.run();
            }

            @Override
            public void publishOnRevoked(Object source, Context context, String role) {
                told.add("published revoked");
                failure.run();
            }

            @Override
            public void publishOnFailedToAcquire(Object source, Context context, String role) {}
        };
    }

    /** The context sets its own publisher after the bean is made. */
    @Test
    void aPublisherThatTheApplicationSetsIsKept() throws Exception {
        try (AnnotationConfigApplicationContext context = new AnnotationConfigApplicationContext()) {
            context.registerBean(LeaseholdLeaderInitiator.class, () -> {
                LeaseholdLeaderInitiator made = initiator(new Noting("a", OPEN));
                made.setLeaderEventPublisher(publishing(() -> {}));
                return made;
            });
            context.refresh();
            assertThat(next()).isEqualTo("a granted true scheduler");
            assertThat(next()).isEqualTo("published granted");
        }
        assertThat(List.of(next(), next())).containsExactly("a revoked false", "published revoked");
    }

    /** Otherwise the leadership would change for as long as the listener fails, at every node. */
    @Test
    void aListenerThatThrowsEndsNoTerm() throws Exception {
        Noting a = new Noting("a", OPEN);
        LeaseholdLeaderInitiator initiator = initiator(a);
        initiator.setLeaderEventPublisher(publishing(() -> {
            throw new IllegalStateException("made by the test");
        }));
        initiator.start();
        assertThat(List.of(next(), next())).containsExactly("a granted true scheduler", "published granted");
        assertThat(told.poll(200, TimeUnit.MILLISECONDS)).isNull();
        assertThat(a.context.isLeader()).isTrue();
        initiator.stop();
        assertThat(List.of(next(), next())).containsExactly("a revoked false", "published revoked");
    }

    /** It stops the endpoints of the role: they would run beside those of the next leader. */
    @Test
    void theRevocationIsPublishedAlthoughTheCandidateFailsInIt() throws Exception {
        assertPublishedDespite(new IOException("made by the test"));
        assertPublishedDespite(new InternalError("made by the test"));
    }

    private void assertPublishedDespite(Throwable failure) throws Exception {
        LeaseholdLeaderInitiator initiator = initiator(new Noting("a", OPEN) {
            @Override
            public void onRevoked(Context context) {
                super.onRevoked(context);
                LeaseholdLeaderInitiatorTest.<RuntimeException>sneaky(failure);
            }
        });
        initiator.setLeaderEventPublisher(publishing(() -> {}));
        initiator.start();
        assertThat(List.of(next(), next())).containsExactly("a granted true scheduler", "published granted");
        assertThat(told.poll(200, TimeUnit.MILLISECONDS))
                .as("the publication has ended")
                .isNull();
        initiator.stop();
        assertThat(List.of(next(), next())).containsExactly("a revoked false", "published revoked");
        initiator.start();
        assertThat(List.of(next(), next()))
                .as("the candidate stands again")
                .containsExactly("a granted true scheduler", "published granted");
        initiator.stop();
        assertThat(List.of(next(), next())).containsExactly("a revoked false", "published revoked");
    }

    /** An application that starts endpoints at the grant and stops them at the revocation relies on the order. */
    @Test
    void aGrantIsPublishedBeforeTheRevocationThatOvertakesIt() throws Exception {
        CountDownLatch revoked = new CountDownLatch(1);
        LeaseholdLeaderInitiator initiator = initiator(new Noting("a", OPEN) {
            @Override
            public void onRevoked(Context context) {
                super.onRevoked(context);
                revoked.countDown();
            }
        });
        initiator.setLeaderEventPublisher(new LeaderEventPublisher() {
            @Override
            public void publishOnGranted(Object source, Context context, String role) {
                client.admin().forceRelease("scheduler", null);
                try {
                    assertThat(revoked.await(1, TimeUnit.MINUTES)).isTrue();
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                }
                told.add("published granted");
            }

            @Override
            public void publishOnRevoked(Object source, Context context, String role) {
                told.add("published revoked");
                initiator.setLeaderEventPublisher(new DefaultLeaderEventPublisher());
            }

            @Override
            public void publishOnFailedToAcquire(Object source, Context context, String role) {}
        });
        initiator.start();
        assertThat(List.of(next(), next(), next(), next()))
                .containsExactly(
                        "a granted true scheduler", "a revoked false", "published granted", "published revoked");
        initiator.stop();
    }

    @Test
    void afterARestartNothingIsGrantedBesideAGrantThatStillRuns() throws Exception {
        CountDownLatch blocked = new CountDownLatch(1);
        LeaseholdLeaderInitiator initiator = new LeaseholdLeaderInitiator(
                client.election("scheduler").with(options -> options.ttl(Duration.ofMillis(300))),
                new Noting("a", blocked));
        initiator.start();
        assertThat(next()).isEqualTo("a granted true scheduler");
        initiator.stop();
        assertThat(next()).isEqualTo("a revoked false");
        initiator.start();
        assertThat(told.poll(200, TimeUnit.MILLISECONDS)).isNull();
        blocked.countDown();
        assertThat(next()).isEqualTo("a granted true scheduler");
        initiator.stop();
    }

    @Test
    void whatACandidateThrowsUncheckedOrNotRevokesIt() throws Exception {
        LeaseholdLeaderInitiator sneaky = initiator(new Noting("sneaky", OPEN) {
            @Override
            public void onGranted(Context context) throws InterruptedException {
                super.onGranted(context);
                throw sneaky(new IOException("made by the test"));
            }
        });
        sneaky.start();
        assertThat(next()).isEqualTo("sneaky granted true scheduler");
        assertThat(next()).isEqualTo("sneaky revoked false");
        sneaky.stop();
    }

    @SuppressWarnings("unchecked")
    private static <T extends Throwable> RuntimeException sneaky(Throwable checked) throws T {
        throw (T) checked;
    }

    @Test
    void whetherAndWhenItStartsMayBeSet() {
        LeaseholdLeaderInitiator initiator = initiator(new Noting("a", OPEN));
        assertThat(initiator.isAutoStartup()).isTrue();
        assertThat(initiator.getPhase()).isEqualTo(Integer.MAX_VALUE - 1000);
        initiator.setAutoStartup(false);
        initiator.setPhase(3);
        assertThat(initiator.isAutoStartup()).isFalse();
        assertThat(initiator.getPhase()).isEqualTo(3);
    }

    /** The events that the application receives. */
    static final class Events {
        private final BlockingQueue<String> told;

        Events(BlockingQueue<String> told) {
            this.told = told;
        }

        @EventListener
        void on(AbstractLeaderEvent event) {
            told.add(event.getClass().getSimpleName() + " " + event.getRole());
        }
    }
}
