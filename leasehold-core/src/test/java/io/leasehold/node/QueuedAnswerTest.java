package io.leasehold.node;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.LockName;
import io.leasehold.spi.HandOver;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.TokenRange;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** From when the hold of a hand-over may be counted, to the nanosecond, and what proves nothing. */
@Tag("quick")
final class QueuedAnswerTest {

    private static final long MS = 1_000_000;
    private static final Incarnation SERVER = new Incarnation("one");
    /** The clock of the client: s = 5,000 ms. That of the server: S = 70,000 ms. Asked again after 3,600 ms at the latest. */
    private static final long SENT = 5_000 * MS;

    private static final long ANSWERED_MICROS = 70_000_000;
    private static final QueuedAnswer ANSWER = new QueuedAnswer(SERVER, ANSWERED_MICROS, SENT, 3_600 * MS);

    private static HandOver at(long serverMicros, HandOver.@Nullable Channel channel) {
        return new HandOver(LockName.exactly("x"), "attempt", TokenRange.of(1, 1), serverMicros, channel);
    }

    private static HandOver after(long millis) {
        return at(ANSWERED_MICROS + millis * 1_000, new HandOver.Channel(SERVER, SENT));
    }

    private static OptionalLong from(HandOver handOver, long nowNanos) {
        return ANSWER.heldFromNanos(handOver, SENT, nowNanos);
    }

    @Test
    void theHoldCountsFromTheSendingPlusWhatTheServerMeasuredLessTheDriftOfTheRates() {
        assertThat(from(after(1_000), SENT + 2_000 * MS)).hasValue(SENT + 990 * MS);
        assertThat(from(after(0), SENT + 2_000 * MS)).hasValue(SENT);
    }

    @Test
    void aMessageOfAnotherLifeOfTheServerProvesNothing() {
        HandOver other = at(ANSWERED_MICROS + 1_000, new HandOver.Channel(new Incarnation("two"), SENT));
        assertThat(from(other, SENT + 2_000 * MS)).isEmpty();
    }

    @Test
    void aMessageWithoutAnOriginProvesNothing() {
        assertThat(from(at(ANSWERED_MICROS + 1_000, null), SENT + 2_000 * MS)).isEmpty();
    }

    @Test
    void aChannelThatIsYoungerThanTheRequestProvesNothing() {
        HandOver younger = at(ANSWERED_MICROS + 1_000, new HandOver.Channel(SERVER, SENT + 1));
        assertThat(from(younger, SENT + 2_000 * MS)).isEmpty();
    }

    @Test
    void aHandOverBeforeTheAnswerProvesNothing() {
        assertThat(from(at(ANSWERED_MICROS - 1, new HandOver.Channel(SERVER, SENT)), SENT + 2_000 * MS))
                .isEmpty();
    }

    @Test
    void aHandOverLaterThanTheNextRequestOfTheWaiterProvesNothing() {
        assertThat(from(after(3_600), SENT + 5_000 * MS)).isPresent();
        assertThat(from(after(3_601), SENT + 5_000 * MS)).isEmpty();
    }

    /** A clock was set if the message says that the hand-over is still to come. */
    @Test
    void aHandOverAfterItsReceiptProvesNothing() {
        assertThat(from(after(1_000), SENT + 990 * MS)).isPresent();
        assertThat(from(after(1_000), SENT + 990 * MS - 1)).isEmpty();
    }

    /** A forged message must not make a holder show a token that keeps all others from the resource. */
    @Test
    void tokensFarAheadOfTheServersClockProveNothing() {
        HandOver.Channel channel = new HandOver.Channel(SERVER, SENT);
        long now = ANSWERED_MICROS + 1_000;
        TokenRange far = TokenRange.of(now + 8_000_000, 2);
        TokenRange near = TokenRange.of(now + 7_999_000, 2);
        LockName name = LockName.exactly("x");
        assertThat(from(new HandOver(name, "attempt", far, now, channel), SENT + 2_000 * MS))
                .isEmpty();
        assertThat(from(new HandOver(name, "attempt", near, now, channel), SENT + 2_000 * MS))
                .isPresent();
    }

    @Test
    void aSleepOfTheMachineSinceTheSendingMovesTheBeginningBack() {
        assertThat(ANSWER.heldFromNanos(after(1_000), SENT - 700 * MS, SENT + 2_000 * MS))
                .hasValue(SENT + 290 * MS);
    }
}
