package io.leasehold.cli.process;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Tests with signals that the witness receives and this process does not: the witness is asked about them nevertheless.
 * The signal is TERM, since a build in the background may ignore INT and HUP.
 */
@Tag("quick")
@Timeout(60)
class SignalWitnessTest {

    private final Signals signals = new Signals();
    private final SignalWitness witness = start();

    private static SignalWitness start() {
        SignalWitness started = SignalWitness.start();
        assertThat(started).isNotNull();
        return started;
    }

    @BeforeEach
    void seesSignals() {
        witness.awaitReady();
    }

    @AfterEach
    void close() {
        witness.close();
    }

    private void send(String name) throws IOException {
        ProcessHandle process = ProcessHandle.current()
                .children()
                .filter(child ->
                        child.info().arguments().map(List::of).orElse(List.of()).contains("leasehold-witness"))
                .findFirst()
                .orElseThrow();
        signals.send(name, List.of(process.pid()));
    }

    @Test
    void tellsWhatReachedItFromWhatDidNot() throws IOException {
        assertThat(witness.wentToGroup(ForwardedSignal.TERM, System.nanoTime())).isFalse();

        for (int nth = 1; nth <= 3; nth++) {
            send("TERM");

            assertThat(witness.wentToGroup(ForwardedSignal.TERM, System.nanoTime()))
                    .as("%s", nth)
                    .isTrue();
            assertThat(witness.wentToGroup(ForwardedSignal.TERM, System.nanoTime()))
                    .as("once")
                    .isFalse();
        }
        assertThat(witness.wentToGroup(ForwardedSignal.HUP, System.nanoTime())).isFalse();
    }

    /** A command that is started afterwards did not receive it. */
    @Test
    void forgetsWhatCameBefore() throws IOException {
        send("TERM");

        witness.forget();

        assertThat(witness.wentToGroup(ForwardedSignal.TERM, System.nanoTime())).isFalse();
        send("TERM");
        assertThat(witness.wentToGroup(ForwardedSignal.TERM, System.nanoTime())).isTrue();
    }

    /** The signal that an earlier question found was not meant for the command either. */
    @Test
    void forgetsWhatAnEarlierQuestionFound() throws IOException {
        long before = System.nanoTime();
        send("TERM");
        assertThat(witness.wentToGroup(ForwardedSignal.TERM, before)).isTrue();

        witness.forget();

        assertThat(witness.wentToGroup(ForwardedSignal.TERM, before)).isFalse();
    }

    /** On a busy machine it may take seconds until the witness runs. */
    @Test
    void isWaitedForWhereItIsSlow() throws Exception {
        send("STOP");
        send("TERM");
        CompletableFuture<Boolean> answer =
                CompletableFuture.supplyAsync(() -> witness.wentToGroup(ForwardedSignal.TERM, System.nanoTime()));
        TimeUnit.MILLISECONDS.sleep(1_500);
        assertThat(answer).isNotDone();

        send("CONT");

        assertThat(answer.get()).isTrue();
    }

    /** Ctrl-C twice on a busy machine: to the witness, the second signal is the first one, which it has not seen yet. */
    @Test
    void reportsOnceWhatArrivedBeforeItRan() throws Exception {
        send("STOP");
        send("TERM");
        long first = System.nanoTime();
        send("TERM");
        long second = System.nanoTime();
        send("CONT");

        assertThat(witness.wentToGroup(ForwardedSignal.TERM, first)).isTrue();
        assertThat(witness.wentToGroup(ForwardedSignal.TERM, second)).isTrue();
        assertThat(witness.wentToGroup(ForwardedSignal.TERM, System.nanoTime()))
                .as("a later one to this process alone")
                .isFalse();
    }

    @Test
    void knowsOfNoneOnceItHasEnded() throws IOException {
        send("KILL");

        assertThat(witness.wentToGroup(ForwardedSignal.HUP, System.nanoTime())).isFalse();
    }
}
