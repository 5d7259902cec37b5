package io.leasehold.spi;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Holder;
import io.leasehold.LockName;
import io.leasehold.spi.toolkit.QueuePlace;
import io.leasehold.spi.toolkit.QueuePlace.Turn;
import java.time.Duration;
import java.util.List;
import java.util.OptionalLong;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The knowledge of a process about its place in a queue: one rule at a time, and in every order of events. */
@Tag("quick")
class QueuePlaceTest {

    private static final long SECOND = Duration.ofSeconds(1).toNanos();
    private static final long NOW = 1_000 * SECOND;
    private static final OwnerToken OWNER = OwnerToken.fromHex("0123456789abcdef0123456789abcdef01234567");

    private final QueuePlace<Integer> place = new QueuePlace<>(LockName.of("order"), "memory:");

    private static AcquireRequest request(long timeoutNanos, long recheckNanos) {
        AcquireRequest asked =
                AcquireRequest.exclusive(List.of(LockName.of("order")), OWNER, "h", 10 * SECOND, timeoutNanos);
        return recheckNanos == 0 ? asked : asked.waiting(recheckNanos);
    }

    private static final AcquireRequest WAITING = request(SECOND, 4 * SECOND);

    private void waits() {
        place.made(1);
        place.await();
        place.queued(null, NOW);
    }

    @Test
    void anAttemptIsForgottenAfterItsAnswerAndOneAndAHalfRechecks() {
        assertThat(QueuePlace.forgottenAtNanos(request(2 * SECOND, 0), NOW)).isEqualTo(NOW + 5 * SECOND);
        assertThat(QueuePlace.forgottenAtNanos(request(2 * SECOND, 4 * SECOND), NOW))
                .isEqualTo(NOW + 11 * SECOND);
        long day = Duration.ofDays(1).toNanos();
        assertThat(QueuePlace.forgottenAtNanos(request(Long.MAX_VALUE, Long.MAX_VALUE), NOW))
                .isEqualTo(NOW + 3 * SECOND + day + day * 3 / 2);
    }

    @Test
    void aRecheckIsAnsweredFromMemoryWhileTheWatchStands() {
        waits();
        assertThat(place.recheck(WAITING, true, NOW + 2 * SECOND)).isPresent();
        assertThat(place.recheck(WAITING, true, NOW + 3 * SECOND))
                .as("counted from the last answer")
                .isEmpty();
        assertThat(place.recheck(WAITING, true, NOW + 4 * SECOND)).isPresent();
        assertThat(place.recheck(WAITING, false, NOW + 8 * SECOND)).as("unsure").isEmpty();
        assertThat(place.recheck(request(SECOND, 0), true, NOW + 8 * SECOND))
                .as("does not wait")
                .isEmpty();
    }

    @Test
    void aWaiterThatWasToldSomethingAsksTheStore() {
        waits();
        assertThat(place.awaitedIsOver()).isTrue();
        assertThat(place.awaitedIsOver()).as("once").isFalse();
        assertThat(place.recheck(WAITING, true, NOW + 4 * SECOND)).isEmpty();
    }

    @Test
    void withoutWatchEntryOrAttemptNothingIsAnsweredFromMemory() {
        for (Consumer<QueuePlace<Integer>> change :
                List.<Consumer<QueuePlace<Integer>>>of(QueuePlace::awaitNothing, QueuePlace::gone, QueuePlace::end)) {
            QueuePlace<Integer> one = new QueuePlace<>(LockName.of("order"), "memory:");
            one.made(1);
            one.await();
            one.queued(null, NOW);
            assertThat(one.isAwaiting()).isTrue();
            change.accept(one);
            assertThat(one.recheck(WAITING, true, NOW + 4 * SECOND)).isEmpty();
            assertThat(one.isAwaiting()).isFalse();
            assertThat(one.awaitedIsOver()).isFalse();
        }
    }

    @Test
    void theHolderIsToldFromMemory() {
        place.made(1);
        place.await();
        Holder holder = new Holder("other", null, OptionalLong.empty(), Holder.Ends.WITH_SESSION);
        place.queued(holder, NOW);
        assertThat(place.recheck(WAITING, true, NOW + 2 * SECOND))
                .hasValueSatisfying(reply ->
                        assertThat(((AcquireReply.Queued) reply).holder()).isSameAs(holder));
    }

    @Test
    void eightLooksAreEnough() {
        assertThat(place.givenUp(7)).isEmpty();
        assertThat(place.givenUp(8)).hasValueSatisfying(reply -> {
            AcquireReply.Failed failed = (AcquireReply.Failed) reply;
            assertThat(failed.kind()).isEqualTo(FailureKind.NO_EFFECT);
            assertThat(failed.error())
                    .hasMessage(
                            "acquire of \"order\" at memory: was given up: its entry in the queue was removed again and"
                                    + " again");
        });
        place.end();
        assertThat(place.givenUp(0))
                .hasValueSatisfying(reply -> assertThat(((AcquireReply.Failed) reply).error())
                        .hasMessageEndingWith("the attempt was taken back"));
    }

    @Test
    void aGrantIsOfTheEntryThatStands() {
        assertThat(place.granted(1)).as("not made").isEqualTo(Turn.OVER);
        place.made(1);
        assertThat(place.granted(2)).as("another").isEqualTo(Turn.OVER);
        assertThat(place.held()).isNull();
        assertThat(place.granted(1)).isEqualTo(Turn.BEGUN);
        assertThat(place.granted(1)).isEqualTo(Turn.HELD);
        assertThat(place.held()).isEqualTo(1);
        assertThat(place.isHeldWith(1)).isTrue();
        assertThat(place.isHeldWith(2)).isFalse();
        assertThat(place.isHeldWith(null)).isFalse();
    }

    @Test
    void whatWasTakenIsToldOnce() {
        place.made(1);
        assertThat(place.taken(1)).as("does not hold").isFalse();
        place.granted(1);
        assertThat(place.taken(2)).as("another").isFalse();
        assertThat(place.taken(1)).isTrue();
        assertThat(place.taken(1)).isFalse();
        assertThat(place.entry()).isNull();
    }

    @Test
    void aRemovalTellsWhetherItHeldUntilThen() {
        place.made(1);
        assertThat(place.isEnded()).isFalse();
        assertThat(place.end()).as("waits").isFalse();
        assertThat(place.isEnded()).isTrue();
        assertThat(place.removed(true)).isFalse();
        QueuePlace<Integer> holding = new QueuePlace<>(LockName.of("order"), "memory:");
        holding.made(1);
        holding.granted(1);
        assertThat(holding.end()).isTrue();
        assertThat(holding.end()).as("a second time").isFalse();
        assertThat(holding.held()).isNull();
        assertThat(holding.entry()).as("to be removed").isEqualTo(1);
        assertThat(holding.removed(true)).isTrue();
        assertThat(holding.removed(true)).as("a late answer").isFalse();
        QueuePlace<Integer> robbed = new QueuePlace<>(LockName.of("order"), "memory:");
        robbed.made(1);
        robbed.granted(1);
        robbed.end();
        assertThat(robbed.removed(false)).as("was not there").isFalse();
    }

    /** The events that a store and its callers report to a place. */
    private enum Event {
        MADE,
        MADE_ANEW,
        AWAIT,
        AWAITED_IS_OVER,
        GRANTED,
        LATE_GRANT,
        TAKEN,
        GONE,
        END,
        REMOVED
    }

    /** In each order of six events, an ended attempt receives nothing, and a hold does not outlive its entry. */
    @Test
    void inEveryOrderNothingIsGrantedAfterTheEndNorHeldWithoutItsEntry() {
        Event[] events = Event.values();
        int orders = (int) Math.pow(events.length, 6);
        int begun = 0;
        for (int order = 0; order < orders; order++) {
            begun += new Orders().play(order, events);
        }
        assertThat(begun).as("holds that began").isPositive();
    }

    private static final class Orders {

        private final QueuePlace<Integer> place = new QueuePlace<>(LockName.of("order"), "memory:");
        private int made;
        private boolean ended;
        private boolean told;
        private int begun;

        int play(int order, Event[] events) {
            for (int rest = order, i = 0; i < 6; i++, rest /= events.length) {
                Event event = events[rest % events.length];
                happen(event);
                check(event, order);
            }
            return begun;
        }

        private void happen(Event event) {
            Integer before = place.held();
            switch (event) {
                case MADE -> {
                    made = Math.max(1, made);
                    place.made(made);
                }
                case MADE_ANEW -> place.made(++made);
                case AWAIT -> place.await();
                case AWAITED_IS_OVER -> told = place.awaitedIsOver();
                case GRANTED -> granted(place.entry());
                case LATE_GRANT -> granted(made - 1);
                case TAKEN -> assertThat(place.taken(made)).isEqualTo(before != null && before == made);
                case GONE -> place.gone();
                case END -> {
                    assertThat(place.end()).isEqualTo(before != null);
                    ended = true;
                }
                case REMOVED -> place.removed(true);
            }
        }

        private void granted(@Nullable Integer entry) {
            boolean stands = entry != null && entry.equals(place.entry());
            Turn turn = place.granted(entry == null ? -1 : entry);
            assertThat(turn == Turn.OVER).isEqualTo(ended || !stands);
            if (turn == Turn.BEGUN) {
                begun++;
            }
        }

        private void check(Event event, int order) {
            Integer held = place.held();
            if (held != null && (ended || !held.equals(place.entry()))) {
                throw new AssertionError("order " + order + " at " + event + ": holds with " + held);
            }
            if (ended && ((told && event == Event.AWAITED_IS_OVER) || place.isAwaiting())) {
                throw new AssertionError("order " + order + " at " + event + ": is woken after its end");
            }
            if (place.entry() == null
                    && (held != null || place.recheck(WAITING, true, NOW).isPresent())) {
                throw new AssertionError("order " + order + " at " + event + ": waits without an entry");
            }
        }
    }
}
