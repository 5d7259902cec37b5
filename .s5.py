exec(open('.sub.py').read())
sub('OrderlyClose.java',("""        boolean done = over.isDone();
        try {
            done |= isOver.getAsBoolean();
        } catch""","""        boolean done = false;
        try {
            done = over.isDone() || isOver.getAsBoolean();
        } catch"""),("""        Futures.guarded("the wait for holders", () -> await(() -> held.stream().noneMatch(isAwaited), patienceNanos / 2));
""","""        Futures.guarded(
                "the wait for holders", () -> await(() -> held.stream().noneMatch(isAwaited), patienceNanos / 2));
"""))
