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
        assertThat(witness.wentToGroup(ForwardedSignal.TERM)).isFalse();

        for (int nth = 1; nth <= 3; nth++) {
            send("TERM");

            assertThat(witness.wentToGroup(ForwardedSignal.TERM)).as("%s", nth).isTrue();
            assertThat(witness.wentToGroup(ForwardedSignal.TERM)).as("once").isFalse();
        }
        assertThat(witness.wentToGroup(ForwardedSignal.HUP)).isFalse();
    }

    /** A command that is started afterwards did not receive it. */
    @Test
    void forgetsWhatCameBefore() throws IOException {
        send("TERM");

        witness.forget();

        assertThat(witness.wentToGroup(ForwardedSignal.TERM)).isFalse();
        send("TERM");
        assertThat(witness.wentToGroup(ForwardedSignal.TERM)).isTrue();
    }

    /** On a busy machine it may take seconds until the witness runs. */
    @Test
    void isWaitedForWhereItIsSlow() throws Exception {
        send("STOP");
        send("TERM");
        CompletableFuture<Boolean> answer =
                CompletableFuture.supplyAsync(() -> witness.wentToGroup(ForwardedSignal.TERM));
        TimeUnit.MILLISECONDS.sleep(1_500);
        assertThat(answer).isNotDone();

        send("CONT");

        assertThat(answer.get()).isTrue();
    }

    @Test
    void knowsOfNoneOnceItHasEnded() throws IOException {
        send("KILL");

        assertThat(witness.wentToGroup(ForwardedSignal.HUP)).isFalse();
    }
}
