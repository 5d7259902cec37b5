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
            new PauseDemo(),
            new ClockDemo(),
            new RestartDemo(),
            new FailoverDemo(),
            new RedlockDemo(),
            new TokensDemo(),
            new BrokenDemo());

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
                return scenario.play(play);
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
