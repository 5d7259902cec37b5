package io.leasehold.demo;

import io.leasehold.cli.output.Terminal;
import java.io.IOException;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The scenarios by name. */
public final class Scenarios {

    private static final List<Scenario> ALL = List.of(
            new Scenario("pause", "a holder sleeps beyond its lease, and writes when it wakes", new PauseDemo()::play),
            new Scenario("clock", "the clock of a Redlock node jumps, and its keys end early", new ClockDemo()::play),
            new Scenario("restart", "a Redlock node restarts and forgets what it granted", new RestartDemo()::play),
            new Scenario(
                    "failover", "a replica that never received the lock becomes the primary", new FailoverDemo()::play),
            new Scenario("redlock", "two of five nodes freeze, and no client notices", new RedlockDemo()::play),
            new Scenario(
                    "tokens", "counters over a quorum give a later holder a smaller token", new TokensDemo()::play),
            // Shorter, since there are many lines.
            new Scenario(
                    "broken",
                    "five hand-made locks fail where Leasehold holds",
                    Duration.ofMillis(60),
                    new BrokenDemo()::play));

    private static final long SIGNAL_MILLIS = 300;

    private Scenarios() {}

    /** Each name with its summary, in the recommended order. */
    public static Map<String, String> summaries() {
        Map<String, String> summaries = new LinkedHashMap<>();
        ALL.forEach(scenario -> summaries.put(scenario.name(), scenario.summary()));
        return summaries;
    }

    /**
     * Plays one.
     *
     * @param naive whether to play it without protection
     * @param quick whether to play it as fast as possible
     * @return whether the histories prove that the promises were kept
     * @throws DemoFailure if it could not be completed
     */
    public static boolean play(
            String name, boolean naive, boolean quick, Terminal terminal, Map<String, String> environment)
            throws DemoFailure, IOException, InterruptedException {
        Scenario scenario = ALL.stream()
                .filter(one -> one.name().equals(name))
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException("no scenario is called " + name));
        boolean colourful = Colours.wanted(environment);
        try (Stage stage = Stage.open()) {
            try {
                Play play = new Play(
                        stage,
                        names -> new Timeline(terminal, colourful, names),
                        naive,
                        quick ? Duration.ZERO : scenario.beat());
                return scenario.plot().play(play);
            } catch (DemoFailure | IOException | RuntimeException e) {
                // Ctrl-C in a terminal reaches the processes, too, perhaps before this one has begun to end.
                Thread.sleep(SIGNAL_MILLIS);
                if (stage.isCleared()) {
                    Thread.sleep(Long.MAX_VALUE);
                }
                throw e;
            }
        }
    }
}
