#!/usr/bin/ruby
# SPDX-License-Identifier: MIT
#
# A process that takes a key as users of Ruby's redis_getlock do, with the commands that gem is known by, as a peer
# for tests: SET with NX and EX until that works, a thread that stores the value anew every interval whatever is
# there, and GET, compare, DEL at the end.
#
#   getlock_peer.rb PORT KEY [wait=S] [hold=S] [expire=S] [interval=S] [loop] [pause=S] [overlap=KEY]
#   getlock_peer.rb PORT KEY show
#
# Prints one line for each event, stamped with CLOCK_MONOTONIC seconds: TRY, GOT uuid, RELEASED, FAILED busy, LOST,
# OVERLAP n. Without hold= it holds until a line comes on stdin, or its end. overlap=KEY is a counter of owners:
# INCR after GOT, DECR before the release; OVERLAP n where there was more than one. loop goes on until SIGTERM,
# after a pause. `show` prints SHOWN uuid seconds, as read from the key: how long the value says it lasts.
# Exit status: 0 where it was got and given back, 1 after FAILED, 3 after LOST.

require 'json'
require 'redis'
require 'securerandom'

# The lock, on a connection of its own for each thread.
class Getlock
  def initialize(port, key, wait:, expire:, interval:)
    @connect = -> { Redis.new(host: '127.0.0.1', port: port) }
    @redis = @connect.call
    @key = key
    @wait = wait
    @expire = expire
    @interval = interval
    @uuid = SecureRandom.uuid
    @mutex = Mutex.new
    @changed = ConditionVariable.new
  end

  attr_reader :redis, :uuid

  def lock
    deadline = now + @wait
    until @redis.set(@key, value, nx: true, ex: @expire)
      return false if @wait >= 0 && now >= deadline

      sleep @interval
    end
    @stopped = false
    @extender = Thread.new { extend_until_stopped }
    true
  end

  def unlock
    @mutex.synchronize do
      @stopped = true
      @changed.signal
    end
    @extender.join
    found = @redis.get(@key)
    return true if found.nil?
    return false unless JSON.parse(found)['uuid'] == @uuid

    @redis.del(@key)
    true
  end

  private

  def now
    Process.clock_gettime(Process::CLOCK_MONOTONIC)
  end

  def value
    JSON.generate('uuid' => @uuid, 'expire_at' => (Time.now.to_f + @expire).to_s)
  end

  def extend_until_stopped
    redis = @connect.call
    stopped = false
    until stopped
      redis.setex(@key, @expire, value)
      @mutex.synchronize do
        @changed.wait(@mutex, @interval) unless @stopped
        stopped = @stopped
      end
    end
    redis.close
  end
end

def say(*words)
  $stdout.syswrite(format("%.6f %s\n", Process.clock_gettime(Process::CLOCK_MONOTONIC), words.join(' ')))
end

def show(port, key)
  found = JSON.parse(Redis.new(host: '127.0.0.1', port: port).get(key))
  say('SHOWN', found.fetch('uuid'), Float(found.fetch('expire_at')) - Time.now.to_f)
end

def hold(lock, values)
  overlap = values['overlap']
  owners = overlap ? lock.redis.incr(overlap) : 1
  say('OVERLAP', owners) if owners > 1
  values.key?('hold') ? sleep(Float(values['hold'])) : $stdin.gets
  lock.redis.decr(overlap) if overlap
end

port, key, *words = ARGV
if words == ['show']
  show(port.to_i, key)
  exit
end
values = words.select { |word| word.include?('=') }.to_h { |word| word.split('=', 2) }
ended = false
Signal.trap('TERM') { ended = true }
lock = Getlock.new(port.to_i, key,
                   wait: Float(values.fetch('wait', 5)),
                   expire: Integer(values.fetch('expire', 2)),
                   interval: Float(values.fetch('interval', 1)))
loop do
  say('TRY')
  unless lock.lock
    say('FAILED', 'busy')
    exit 1
  end
  say('GOT', lock.uuid)
  hold(lock, values)
  unless lock.unlock
    say('LOST')
    exit 3
  end
  say('RELEASED')
  break if ended || !words.include?('loop')

  sleep Float(values.fetch('pause', 0))
end
