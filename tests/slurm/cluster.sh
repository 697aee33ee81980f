# shellcheck shell=bash
# A cluster of this machine alone, for tests: munged, slurmctld and slurmd in a folder of their own. Needs root. Sourced, never run.

# cluster_start FOLDER: exports SLURM_CONF. False: it did not start, and the logs in FOLDER say why.
cluster_start() {
  local folder=$1 host port munge_user
  host=$(hostname -s)
  port=$((20000 + RANDOM % 20000))
  munge_user=$(id -un)
  mkdir -p "$folder/state" "$folder/spool"
  chmod 755 "$folder"
  head -c 1024 /dev/urandom >"$folder/munge.key"
  chmod 400 "$folder/munge.key"
  cat >"$folder/slurm.conf" <<END
ClusterName=opcheck
SlurmctldHost=$host(127.0.0.1)
AuthType=auth/munge
AuthInfo=socket=$folder/munge.socket
SlurmUser=$munge_user
SlurmdUser=$munge_user
SlurmctldPort=$port
SlurmdPort=$((port + 1))
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
ReturnToService=2
KillWait=2
SchedulerParameters=sched_interval=1,batch_sched_delay=0
NodeName=$host NodeAddr=127.0.0.1 CPUs=$(nproc) State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
END
  export SLURM_CONF=$folder/slurm.conf
  munged --force --key-file="$folder/munge.key" --socket="$folder/munge.socket" --pid-file="$folder/munge.pid" --log-file="$folder/munge.log" \
    --seed-file="$folder/munge.seed" && slurmctld -c && slurmd || return 1
  for _ in $(seq 100); do
    [[ "$(sinfo -h -o %t 2>/dev/null)" == idle ]] && return 0
    sleep 0.2
  done
  return 1
}

# cluster_stop FOLDER: waits until the daemons are gone, which still write into it.
cluster_stop() {
  local name pid
  scancel --user="$(id -un)" 2>/dev/null
  for name in slurmd slurmctld munge; do
    [[ -s "$1/$name.pid" ]] || continue
    pid=$(cat "$1/$name.pid")
    kill "$pid" 2>/dev/null
    for _ in $(seq 50); do
      kill -0 "$pid" 2>/dev/null || break
      sleep 0.1
    done
  done
  return 0
}
